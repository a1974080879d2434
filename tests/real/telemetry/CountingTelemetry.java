import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.telemetry.ClientTelemetry;
import org.apache.kafka.server.telemetry.ClientTelemetryPayload;
import org.apache.kafka.server.telemetry.ClientTelemetryReceiver;

/** Makes a broker take clients' telemetry (KIP-714), and throws it away.  Without generics: Janino compiles it. */
public class CountingTelemetry implements MetricsReporter, ClientTelemetry, ClientTelemetryReceiver {
    public void configure(java.util.Map configs) {}
    public void init(java.util.List metrics) {}
    public void metricChange(org.apache.kafka.common.metrics.KafkaMetric metric) {}
    public void metricRemoval(org.apache.kafka.common.metrics.KafkaMetric metric) {}
    public void close() {}
    public ClientTelemetryReceiver clientReceiver() { return this; }
    public void exportMetrics(AuthorizableRequestContext context, ClientTelemetryPayload payload) {}
}
