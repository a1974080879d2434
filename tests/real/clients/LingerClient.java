import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Producers of one linger.ms each, of which the one named "busy" never waits; then one that sends a little to three partitions. */
public class LingerClient {
    private static final String SERIALIZER = "org.apache.kafka.common.serialization.StringSerializer";

    public static void main(String[] arguments) throws Exception {
        String address = arguments[0], name = arguments[1];
        if (arguments.length == 3) {
            refresh(producer(address, name, "metadata.max.age.ms", arguments[2]));
            return;
        }
        List<Thread> threads = new ArrayList<>();
        for (int at = 2; at + 1 < arguments.length; at += 2) {
            String kind = arguments[at], linger = arguments[at + 1];
            Thread thread = new Thread(() -> gather(producer(address, name + "-" + kind, "linger.ms", linger), kind.equals("busy"), Integer.parseInt(linger)));
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads)
            thread.join();
    }

    /** Bursts that are longer than linger.ms, with pauses between them; or as many records as there can be. */
    private static void gather(KafkaProducer<String, String> one, boolean busy, int linger) {
        Random random = new Random(linger);
        for (int burst = 0; burst < 25; burst++) {
            double mean = new double[] {1.5, 3, 5}[random.nextInt(3)];
            long until = System.nanoTime() + (long) ((2.2 * linger + 20) * 1e6);
            for (int number = 0; busy ? number < 4000 : System.nanoTime() < until; number++) {
                if (!busy)
                    LockSupport.parkNanos((long) (-mean * Math.log(1 - random.nextDouble()) * 1e6));
                one.send(new ProducerRecord<>("gathered", "canary-record".repeat(1 + random.nextInt(9))));
            }
            if (!busy)
                LockSupport.parkNanos(300_000_000L + random.nextInt(100_000_000));
        }
        one.close();
    }

    private static void refresh(KafkaProducer<String, String> one) throws Exception {
        while (true) {
            for (int partition = 0; partition < 3; partition++)
                one.send(new ProducerRecord<>("spread", partition, null, "canary-record"));
            Thread.sleep(500);
        }
    }

    private static KafkaProducer<String, String> producer(String address, String name, String key, String value) {
        Map<String, Object> made = new HashMap<>(Map.of("bootstrap.servers", address, "client.id", name, "key.serializer", SERIALIZER,
            "value.serializer", SERIALIZER));
        made.put(key, value);
        return new KafkaProducer<>(made);
    }
}
