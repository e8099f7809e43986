package payments;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.util.backoff.FixedBackOff;

/**
 * Books payments with Spring Kafka. OPEN was renamed to PENDING here, and the producer was not told: each of its payments
 * dies and goes to TOPIC-dlt. What can be read is booked in TOPIC-booked.
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
        create(brokers, topic, topic + "-dlt", topic + "-booked");
        KafkaTemplate<String, String> template = new KafkaTemplate<>(new DefaultKafkaProducerFactory<>(
            Map.of(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, brokers, ProducerConfig.LINGER_MS_CONFIG, 0), // the recoverer waits for each record
            new StringSerializer(), new StringSerializer()));
        for (int i = 0; i < count; i++) {
            template.send(topic, "p-" + i, "{\"id\":\"p-" + i + "\",\"cents\":" + (100 + i) + ",\"status\":\"OPEN\"}");
        }
        template.flush();

        AtomicInteger booked = new AtomicInteger();
        AtomicInteger dead = new AtomicInteger();
        ContainerProperties listener = new ContainerProperties(topic);
        listener.setGroupId(topic);
        listener.setMessageListener((MessageListener<String, String>) record -> {
            book(template, topic + "-booked", record);
            booked.incrementAndGet();
        });
        DeadLetterPublishingRecoverer recoverer = new DeadLetterPublishingRecoverer(template);
        DefaultErrorHandler handler = new DefaultErrorHandler((record, error) -> {
            recoverer.accept(record, error);
            dead.incrementAndGet();
        }, new FixedBackOff(0, 0));
        handler.setSeekAfterError(false);
        KafkaMessageListenerContainer<String, String> container = new KafkaMessageListenerContainer<>(
            new DefaultKafkaConsumerFactory<>(Map.of(
                ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, brokers,
                ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest",
                // A replayer that is killed leaves aborted records behind. Only read_committed passes over them.
                ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed"),
                new StringDeserializer(), new StringDeserializer()), listener);
        container.setCommonErrorHandler(handler);
        container.start();
        for (String last = "";; Thread.sleep(1000)) {
            String now = "booked " + booked + ", dead " + dead;
            if (!now.equals(last)) {
                System.out.println(now);
            }
            last = now;
        }
    }

    private static void book(KafkaTemplate<String, String> template, String topic, ConsumerRecord<String, String> record) {
        try {
            Payment payment = JSON.readValue(record.value(), Payment.class);
            template.send(topic, payment.id(), payment.status() + " " + payment.cents());
        } catch (java.io.IOException e) {
            throw new IllegalArgumentException("no payment", e);
        }
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
