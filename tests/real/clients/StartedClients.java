import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;

/**
 * Makes a client for each line of its input, a kind and settings with tabs between, several at a time. A line on standard error says how
 * it went, with the number of its own: "@7 started", or "@7 refused" and the messages of the error and its causes. What a client logs has
 * that number as the name of its thread, and is on standard output: a long message is written in parts, between which no line of another
 * must come. No broker is needed.
 */
public class StartedClients {
    private static final String STRING = "org.apache.kafka.common.serialization.String";

    private static final ExecutorService CLOSING = Executors.newCachedThreadPool();

    public static void main(String[] arguments) throws Exception {
        ExecutorService starting = Executors.newFixedThreadPool(8);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        int number = 0;
        for (String line; (line = lines.readLine()) != null; ) {
            String name = "@" + number++;
            String[] parts = line.split("\t");
            starting.execute(() -> {
                Thread.currentThread().setName(name); // which the log says of each line
                System.err.println(name + " " + started(parts));
            });
        }
        starting.shutdown();
        starting.awaitTermination(5, TimeUnit.MINUTES);
        System.out.flush();
        System.err.flush();
        Runtime.getRuntime().halt(0); // whatever is still closing
    }

    private static String started(String[] parts) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", "127.0.0.1:1");
        if (parts[0].equals("producer")) {
            settings.put("key.serializer", STRING + "Serializer");
            settings.put("value.serializer", STRING + "Serializer");
        } else if (parts[0].equals("consumer")) {
            settings.put("key.deserializer", STRING + "Deserializer");
            settings.put("value.deserializer", STRING + "Deserializer");
        }
        for (int at = 1; at < parts.length; at++) {
            int equals = parts[at].indexOf('=');
            settings.put(decoded(parts[at].substring(0, equals)), decoded(parts[at].substring(equals + 1)));
        }
        try {
            if (parts[0].equals("producer")) {
                KafkaProducer<String, String> made = new KafkaProducer<>(settings);
                CLOSING.execute(() -> made.close(Duration.ZERO));
            } else if (parts[0].equals("consumer")) {
                new KafkaConsumer<String, String>(settings).close(Duration.ZERO);
            } else {
                AdminClient made = AdminClient.create(settings);
                CLOSING.execute(() -> made.close(Duration.ZERO));
            }
            return "started";
        } catch (RuntimeException error) {
            StringBuilder said = new StringBuilder("refused");
            for (Throwable each = error; each != null; each = each.getCause()) said.append(" ").append(each.getMessage());
            return said.toString().replaceAll("\\s+", " ");
        }
    }

    private static String decoded(String text) {
        return URLDecoder.decode(text, StandardCharsets.UTF_8);
    }
}
