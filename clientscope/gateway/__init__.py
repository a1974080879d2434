"""The process in front of a broker: it passes all traffic on, learns who connects, and takes PushConfig (KIP-511, KIP-1324)."""
