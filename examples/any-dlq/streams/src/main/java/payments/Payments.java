package payments;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.LogAndContinueExceptionHandler;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Books payments with Kafka Streams. OPEN was renamed to PENDING here, and the producer was not told: its payments cannot be
 * deserialized and go to TOPIC-dlq (KIP-1034). What can be read is booked in TOPIC-booked.
 *
 * <p>Arguments: brokers, how many payments to send first, and the topic (payments). It runs until it is ended.
 */
public final class Payments {
    enum Status { PENDING, SETTLED }

    record Payment(String id, long cents, Status status) { }

    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        String brokers = args[0];
        int count = Integer.parseInt(args[1]);
        String topic = args.length > 2 ? args[2] : "payments";
        create(brokers, topic, topic + "-dlq", topic + "-booked");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(
            Map.of("bootstrap.servers", brokers), new StringSerializer(), new StringSerializer())) {
            for (int i = 0; i < count; i++) {
                producer.send(new ProducerRecord<>(topic, "p-" + i,
                    "{\"id\":\"p-" + i + "\",\"cents\":" + (100 + i) + ",\"status\":\"OPEN\"}"));
            }
        }
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, brokers);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, topic);
        // With exactly_once_v2 it reads with read_committed, and passes over what a killed replayer left behind.
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        settings.put(StreamsConfig.ERRORS_DEAD_LETTER_QUEUE_TOPIC_NAME_CONFIG, topic + "-dlq");
        settings.put(StreamsConfig.DESERIALIZATION_EXCEPTION_HANDLER_CLASS_CONFIG, LogAndContinueExceptionHandler.class);
        StreamsBuilder topology = new StreamsBuilder();
        topology.stream(topic, Consumed.with(Serdes.String(), payments()))
            .mapValues(payment -> payment.id() + " " + payment.status() + " " + payment.cents())
            .to(topic + "-booked", Produced.with(Serdes.String(), Serdes.String()));
        new KafkaStreams(topology.build(), settings).start();
        Thread.currentThread().join();
    }

    private static Serde<Payment> payments() {
        Deserializer<Payment> read = (topic, value) -> {
            try {
                return JSON.readValue(value, Payment.class);
            } catch (IOException e) {
                throw new SerializationException("no payment", e);
            }
        };
        return Serdes.serdeFrom((topic, payment) -> {
            throw new UnsupportedOperationException();
        }, read);
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
