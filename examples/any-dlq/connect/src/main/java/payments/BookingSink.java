package payments;

import java.util.Collection;
import java.util.List;
import java.util.Map;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/** A sink that books payments in another topic, in place of a database. */
public final class BookingSink extends SinkConnector {
    private Map<String, String> settings;

    @Override
    public void start(Map<String, String> props) {
        settings = props;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return Booking.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        return List.of(settings);
    }

    @Override
    public void stop() {
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public String version() {
        return "1";
    }

    /** The task of the sink. */
    public static final class Booking extends SinkTask {
        private KafkaProducer<String, String> producer;
        private String booked;

        @Override
        public void start(Map<String, String> props) {
            booked = props.get("booked");
            producer = new KafkaProducer<>(Map.of("bootstrap.servers", props.get("brokers")), new StringSerializer(), new StringSerializer());
        }

        @Override
        public void put(Collection<SinkRecord> records) {
            for (SinkRecord record : records) {
                Map<?, ?> payment = (Map<?, ?>) record.value();
                producer.send(new ProducerRecord<>(booked, payment.get("id") + " " + payment.get("status") + " " + payment.get("cents")));
            }
            producer.flush();
        }

        @Override
        public void stop() {
            producer.close();
        }

        @Override
        public String version() {
            return "1";
        }
    }
}
