package payments;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.connect.cli.ConnectStandalone;

/**
 * Books payments with a sink of Kafka Connect. The producer leaves a comma behind the last field: the converter fails on each
 * of its payments, and they go to TOPIC-dlq. What can be read is booked in TOPIC-booked.
 *
 * <p>Arguments: brokers, how many payments to send first, and the topic (payments). It runs until it is ended.
 */
public final class Payments {
    public static void main(String[] args) throws Exception {
        String brokers = args[0];
        int count = Integer.parseInt(args[1]);
        String topic = args.length > 2 ? args[2] : "payments";
        create(brokers, topic, topic + "-dlq", topic + "-booked");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(
            Map.of("bootstrap.servers", brokers), new StringSerializer(), new StringSerializer())) {
            for (int i = 0; i < count; i++) {
                producer.send(new ProducerRecord<>(topic, "p-" + i, "{\"id\":\"p-" + i + "\",\"cents\":" + (100 + i) + ",\"status\":\"PENDING\",}"));
            }
        }
        String worker = properties(Map.of(
            "bootstrap.servers", brokers, "listeners", "http://127.0.0.1:0",
            "offset.storage.file.filename", Files.createTempFile("offsets", "").toString(),
            "offset.flush.interval.ms", "1000", // how often the group commits
            "key.converter", "org.apache.kafka.connect.storage.StringConverter",
            "value.converter", "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable", "false",
            // A replayer that is killed leaves aborted records behind. Only read_committed passes over them.
            "consumer.isolation.level", "read_committed"));
        String sink = properties(Map.of(
            "name", topic, "connector.class", BookingSink.class.getName(), "tasks.max", "1", "topics", topic,
            "brokers", brokers, "booked", topic + "-booked", "errors.tolerance", "all",
            "errors.deadletterqueue.topic.name", topic + "-dlq", "errors.deadletterqueue.topic.replication.factor", "1",
            "errors.deadletterqueue.context.headers.enable", "true"));
        ConnectStandalone.main(new String[] {worker, sink});
    }

    private static String properties(Map<String, String> settings) throws java.io.IOException {
        Properties properties = new Properties();
        properties.putAll(settings);
        Path file = Files.createTempFile("payments", ".properties");
        try (java.io.Writer out = Files.newBufferedWriter(file)) {
            properties.store(out, null);
        }
        return file.toString();
    }

    private static void create(String brokers, String... topics) throws InterruptedException, ExecutionException {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", brokers))) {
            for (String topic : topics) {
                try {
                    admin.createTopics(List.of(new NewTopic(topic, 3, (short) 1))).all().get();
                } catch (ExecutionException e) {
                    if (!(e.getCause() instanceof TopicExistsException)) {
                        throw e;
                    }
                }
            }
        }
    }
}
