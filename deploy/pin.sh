#!/bin/sh
# Looks up the digest of each image in images.txt, once, and writes ../.env, which Compose reads. Needs docker with buildx, and the network.
# With CLIENTSCOPE_IMAGE and CLIENTSCOPE_SPARK_IMAGE, which you have pushed to a registry of yours, writes kubernetes/kustomization.yaml too.
set -eu
cd "$(dirname "$0")"

digest() {
  found=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$1")
  # A tag may be moved, a digest can't.
  printf '%s\n' "$found" | grep -Eqx 'sha256:[0-9a-f]{64}' || { echo "error: $1 has no digest (got: $found)" >&2; exit 1; }
  printf '%s\n' "$found"
}

lines=
for line in $(grep -v '^#' images.txt); do
  image=${line#*=}
  found=$(digest "$image")
  lines="$lines${line%%=*}=$image@$found
"
  echo "$image is $found"
done
printf '%s' "$lines" > ../.env

if [ -n "${CLIENTSCOPE_IMAGE:-}" ] && [ -n "${CLIENTSCOPE_SPARK_IMAGE:-}" ]; then
  kafka=$(printf '%s' "$lines" | sed -n 's/^KAFKA_IMAGE=.*@//p')
  ours=$(digest "$CLIENTSCOPE_IMAGE")
  spark=$(digest "$CLIENTSCOPE_SPARK_IMAGE")
  sed -e "s|@KAFKA@|$kafka|" -e "s|@CLIENTSCOPE@|$ours|" -e "s|@CLIENTSCOPE_NAME@|${CLIENTSCOPE_IMAGE%:*}|" \
    -e "s|@SPARK@|$spark|" -e "s|@SPARK_NAME@|${CLIENTSCOPE_SPARK_IMAGE%:*}|" kubernetes/kustomization.in > kubernetes/kustomization.yaml
  echo "wrote kubernetes/kustomization.yaml"
fi
