import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;

/** A share consumer with values that are no defaults. */
public class ShareClient {
    private static final String DESERIALIZER = "org.apache.kafka.common.serialization.StringDeserializer";

    public static void main(String[] arguments) {
        Map<String, Object> settings = Map.of("bootstrap.servers", arguments[0], "client.id", "sharing", "group.id", "shared",
            "fetch.min.bytes", "2", "fetch.max.wait.ms", "420", "fetch.max.bytes", "3000000", "max.poll.records", "60",
            "client.rack", "eu-4", "key.deserializer", DESERIALIZER, "value.deserializer", DESERIALIZER);
        try (KafkaShareConsumer<String, String> one = new KafkaShareConsumer<>(settings)) {
            one.subscribe(List.of("orders"));
            for (int polls = 0; polls < 12; polls++)
                one.poll(Duration.ofMillis(500));
        }
    }
}
