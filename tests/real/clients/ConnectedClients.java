import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;

/** ConnectedClients BOOTSTRAP TOPIC: a producer, a consumer and an admin client with the library's own client.ids, until standard input ends. */
public class ConnectedClients {
    private static final String STRING = "org.apache.kafka.common.serialization.String";

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", arguments[0]);
        Map<String, Object> producing = new HashMap<>(settings);
        producing.putAll(Map.of("acks", "1", "key.serializer", STRING + "Serializer", "value.serializer", STRING + "Serializer"));
        Map<String, Object> consuming = new HashMap<>(settings);
        consuming.putAll(Map.of("group.id", "billing", "key.deserializer", STRING + "Deserializer", "value.deserializer", STRING + "Deserializer"));
        consuming.put("session.timeout.ms", "8000");
        consuming.put("heartbeat.interval.ms", "4000");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(producing);
                KafkaConsumer<String, String> consumer = new KafkaConsumer<>(consuming);
                AdminClient admin = AdminClient.create(settings)) {
            admin.describeCluster().clusterId().get();
            producer.partitionsFor(arguments[1]);
            consumer.subscribe(List.of(arguments[1]));
            while (System.in.available() == 0 && !ended()) consumer.poll(Duration.ofMillis(500));
        }
    }

    /** Whether who started it is gone. */
    private static boolean ended() {
        return ProcessHandle.current().parent().map(parent -> parent.pid() == 1).orElse(true);
    }
}
