import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** A producer with a transaction, one without idempotence and a consumer, all with values that are no defaults. */
public class SetClients {
    private static final String STRING = "org.apache.kafka.common.serialization.String";

    public static void main(String[] arguments) throws Exception {
        String address = arguments[0], name = arguments[1];
        try (KafkaProducer<String, String> one = new KafkaProducer<>(settings(address, "client.id", name + "-plain", "acks", "1",
                "request.timeout.ms", "21000", "enable.idempotence", "false", "compression.type", "gzip",
                "key.serializer", STRING + "Serializer", "value.serializer", STRING + "Serializer"))) {
            one.send(new ProducerRecord<>("orders", "canary-record")).get();
        }
        try (KafkaProducer<String, String> one = new KafkaProducer<>(settings(address, "client.id", name + "-tx", "acks", "all",
                "transactional.id", name + "-t1", "transaction.timeout.ms", "47000", "request.timeout.ms", "22000",
                "key.serializer", STRING + "Serializer", "value.serializer", STRING + "Serializer"))) {
            one.initTransactions();
            one.beginTransaction();
            one.send(new ProducerRecord<>("orders", "canary-record")).get();
            one.commitTransaction();
        }
        consume(settings(address, "client.id", name + "-classic", "group.id", name + "-billing", "group.instance.id", "billing-1",
            "session.timeout.ms", "12000", "max.poll.interval.ms", "90000"));
        if (name.equals("java-4.4"))
            consume(settings(address, "client.id", name + "-new", "group.id", name + "-new-billing", "group.protocol", "consumer",
                "group.remote.assignor", "range", "max.poll.interval.ms", "91000"));
    }

    private static void consume(Map<String, Object> own) {
        own.putAll(settings(null, "fetch.min.bytes", "7", "fetch.max.wait.ms", "350", "fetch.max.bytes", "4000000",
            "max.partition.fetch.bytes", "300000", "client.rack", "eu-1", "isolation.level", "read_committed",
            "auto.offset.reset", "earliest", "allow.auto.create.topics", "false",
            "key.deserializer", STRING + "Deserializer", "value.deserializer", STRING + "Deserializer"));
        try (KafkaConsumer<String, String> one = new KafkaConsumer<>(own)) {
            one.subscribe(List.of("orders"));
            int records = 0;
            for (int polls = 0; polls < 20 && records == 0; polls++)
                records = one.poll(Duration.ofSeconds(1)).count();
            one.commitSync();
        }
    }

    private static Map<String, Object> settings(String address, String... pairs) {
        Map<String, Object> made = new HashMap<>();
        if (address != null)
            made.put("bootstrap.servers", address);
        for (int at = 0; at < pairs.length; at += 2)
            made.put(pairs[at], pairs[at + 1]);
        return made;
    }
}
