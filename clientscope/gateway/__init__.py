"""The gateway, a proxy in front of a broker: passes all traffic on, records who connects, and takes PushConfig (KIP-511, KIP-1324)."""
