#!/bin/sh
# Makes keys, tokens, passwords and certificates in the given folder (default: secrets, beside this script), for their owner alone. What is
# there stays. docker-compose.yml runs it as its first service; for kubernetes/ run it yourself. Certificates are good for a year: remove
# kafka.pem, and run it again.
set -eu
umask 077
folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
cd "$folder"
for name in digest.key reader.token admin.token broker.password kafka.password spark.secret; do
  [ -s "$name" ] || openssl rand -hex 32 > "$name"
done

# One authority, and one certificate for all brokers: by the names that they have in Compose and in Kubernetes.
if [ ! -s kafka.pem ]; then
  names=DNS:localhost
  for name in kafka-1 kafka-2 kafka-3 kafka-1.controllers kafka-2.controllers kafka-3.controllers kafka-0.kafka kafka-1.kafka kafka-2.kafka; do
    names="$names,DNS:$name"
  done
  printf 'subjectAltName=%s\nbasicConstraints=critical,CA:FALSE\n' "$names" > kafka.ext
  openssl req -x509 -newkey rsa:3072 -nodes -days 365 -subj "/CN=clientscope brokers' authority" -keyout ca.key -out ca.crt 2>/dev/null
  openssl req -newkey rsa:3072 -nodes -subj /CN=kafka -keyout kafka.key -out kafka.csr 2>/dev/null
  openssl x509 -req -in kafka.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 -extfile kafka.ext -out kafka.crt 2>/dev/null
  cat kafka.key kafka.crt > kafka.pem
  # Nothing is signed with the authority's key again, so nobody can take it.
  rm -f ca.key ca.srl kafka.ext kafka.csr kafka.key kafka.crt
fi

# Who may speak to INTERNAL: the brokers to each other, and clientscope's own processes.
login='org.apache.kafka.common.security.plain.PlainLoginModule required username='
broker=$(cat broker.password) ours=$(cat kafka.password)
cat > server.properties <<END
listener.name.internal.plain.sasl.jaas.config=$login"broker" password="$broker" user_broker="$broker" user_clientscope="$ours";
END
cat > client.properties <<END
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config=$login"clientscope" password="$ours";
ssl.truststore.type=PEM
ssl.truststore.location=/run/secrets/ca.crt
END
printf '%s"clientscope" password="%s";' "$login" "$ours" > jaas
printf "KAFKA_SASL_JAAS_CONFIG='%s'\n" "$(cat jaas)" > spark-env.sh
cat > spark-defaults.conf <<END
spark.authenticate true
spark.authenticate.secret $(cat spark.secret)
spark.network.crypto.enabled true
spark.network.crypto.cipher AES/GCM/NoPadding
spark.master.rest.enabled false
END
