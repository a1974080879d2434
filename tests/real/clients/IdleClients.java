import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** A consumer that polls until it is stopped, and closes connections that have been idle for 11 s; its arguments are an address, its name, and settings. */
public class IdleClients {
    private static final String STRING = "org.apache.kafka.common.serialization.StringDeserializer";

    public static void main(String[] arguments) {
        Map<String, Object> own = new HashMap<>(Map.of("bootstrap.servers", arguments[0], "client.id", arguments[1], "group.id", arguments[1],
            "connections.max.idle.ms", "11000", "key.deserializer", STRING, "value.deserializer", STRING));
        for (int at = 2; at < arguments.length; at += 2)
            own.put(arguments[at], arguments[at + 1]);
        try (KafkaConsumer<String, String> one = new KafkaConsumer<>(own)) {
            one.subscribe(List.of("orders"));
            while (true)
                one.poll(Duration.ofMillis(100));
        }
    }
}
