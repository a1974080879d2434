import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** A producer that commits a transaction, aborts one, and leaves one open: what request_logs.py keeps. */
public class TransactionalClient {
    public static void main(String[] arguments) throws Exception {
        String serializer = "org.apache.kafka.common.serialization.StringSerializer";
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", arguments[0], "client.id", "java-payments-1",
            "transactional.id", "payments-1", "transaction.timeout.ms", "2000", "key.serializer", serializer, "value.serializer", serializer));
        KafkaProducer<String, String> producer = new KafkaProducer<>(settings);
        producer.initTransactions();
        for (String end : new String[] {"commit", "abort", "nothing"}) {
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("orders", "canary-record")).get();
            if (end.equals("commit")) {
                Map<TopicPartition, OffsetAndMetadata> offsets = Map.of(new TopicPartition("orders", 0), new OffsetAndMetadata(1));
                producer.sendOffsetsToTransaction(offsets, new ConsumerGroupMetadata("billing"));
                producer.commitTransaction();
            } else if (end.equals("abort")) {
                producer.abortTransaction();
            }
        }
        Runtime.getRuntime().halt(0);
    }
}
