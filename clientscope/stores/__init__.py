"""Folders of checkpoints and history: on this machine's file systems, on HDFS, or in an object store."""
