#!/bin/sh
# Makes what docker-compose.yml needs and must not be in it: a key and two tokens, for their owner alone, and a folder for Prometheus.
# What is there stays.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets data/prometheus
for name in digest.key reader.token admin.token; do
  [ -s "secrets/$name" ] || openssl rand -hex 32 > "secrets/$name"
done
if [ "$(id -u)" != 1000 ]; then
  echo "run as: CLIENTSCOPE_UID=$(id -u) CLIENTSCOPE_GID=$(id -g) docker compose up --build --wait"
fi
