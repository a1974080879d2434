"""The past, before the topics begin: questions to the job's Delta tables, answered in a process of its own.

`asking` is serve's side: one question at a time, each with a deadline.  `process` is the other: it opens tables and answers, and nothing
else in this package runs in serve itself.  delta-rs keeps Python's lock while it works, so in serve the live page would stand still.
"""
