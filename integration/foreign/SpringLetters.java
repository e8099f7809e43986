package foreign;

import java.util.Map;
import java.util.function.Supplier;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.IntegerDeserializer;
import org.apache.kafka.common.serialization.IntegerSerializer;
import org.apache.kafka.common.serialization.Serializer;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;
import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.EnableKafkaRetryTopic;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.support.serializer.DelegatingByTypeSerializer;
import org.springframework.kafka.support.serializer.ErrorHandlingDeserializer;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;
import org.springframework.util.backoff.FixedBackOff;

/**
 * Listeners of Spring Kafka that fail on every record:
 *
 * <ul>
 * <li>PREFIX.spring: the listener throws; after three deliveries the plain recoverer writes to PREFIX.spring-dlt.
 * <li>PREFIX.spring-dlt: the listener of the dead letters throws too; they go on to PREFIX.spring-again.
 * <li>PREFIX.numbers: key and value are to be integers of four bytes; what is not goes to PREFIX.numbers-dlt, with the
 *     headers in which Spring keeps the deserializers' exceptions.
 * <li>PREFIX: the source of a pipeline, which Spring reads beside it; the dead letters go to the pipeline's own PREFIX.dlq.
 * <li>PREFIX.retried: a {@code @RetryableTopic} of three attempts, then PREFIX.retried-dlt.
 * </ul>
 *
 * <p>Arguments: brokers, prefix of the topics and groups. It runs until it is ended.
 */
public final class SpringLetters {
    public static void main(String[] args) throws InterruptedException {
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
        context.getEnvironment().getPropertySources().addFirst(
            new MapPropertySource("arguments", Map.of("brokers", args[0], "prefix", args[1])));
        context.register(Settings.class);
        context.refresh();
        Thread.currentThread().join();
    }

    /** What all listeners have in common, and the listeners. */
    @Configuration
    @EnableKafkaRetryTopic
    static class Settings {
        @Value("${brokers}")
        private String brokers;

        @Value("${prefix}")
        private String prefix;

        @Bean
        KafkaAdmin admin() { // makes the topics of @RetryableTopic
            return new KafkaAdmin(Map.of("bootstrap.servers", brokers));
        }

        @Bean
        TaskScheduler scheduler() { // wakes the waiting retry topics
            return new ThreadPoolTaskScheduler();
        }

        @Bean
        KafkaTemplate<Object, Object> kafkaTemplate() {
            Supplier<Serializer<Object>> bytesOrNumber = () -> new DelegatingByTypeSerializer(
                Map.of(byte[].class, new ByteArraySerializer(), Integer.class, new IntegerSerializer()));
            return new KafkaTemplate<>(new DefaultKafkaProducerFactory<>(
                Map.of(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, brokers), bytesOrNumber, bytesOrNumber));
        }

        @Bean
        ConcurrentKafkaListenerContainerFactory<Object, Object> kafkaListenerContainerFactory() {
            ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
            factory.setConsumerFactory(consumers(ByteArrayDeserializer::new));
            return factory;
        }

        @Bean
        KafkaMessageListenerContainer<Object, Object> plain(KafkaTemplate<Object, Object> template) {
            ContainerProperties listener = listener(prefix + ".spring", record -> {
                throw new IllegalStateException("ring 7 is not closed");
            });
            listener.setDeliveryAttemptHeader(true);
            return container(ByteArrayDeserializer::new, listener, new DeadLetterPublishingRecoverer(template), 2);
        }

        @Bean
        KafkaMessageListenerContainer<Object, Object> again(KafkaTemplate<Object, Object> template) {
            ContainerProperties listener = listener(prefix + ".spring-dlt", record -> {
                throw new IllegalArgumentException("no desk takes this letter", new ArithmeticException("0 desks"));
            });
            return container(ByteArrayDeserializer::new, listener, new DeadLetterPublishingRecoverer(template,
                (record, error) -> new TopicPartition(prefix + ".spring-again", record.partition())), 0);
        }

        @Bean
        KafkaMessageListenerContainer<Object, Object> numbers(KafkaTemplate<Object, Object> template) {
            DeadLetterPublishingRecoverer recoverer = new DeadLetterPublishingRecoverer(template);
            recoverer.setRetainExceptionHeader(true);
            return container(() -> new ErrorHandlingDeserializer<>(new IntegerDeserializer()),
                listener(prefix + ".numbers", record -> { }), recoverer, 0);
        }

        @Bean
        KafkaMessageListenerContainer<Object, Object> beside(KafkaTemplate<Object, Object> template) {
            ContainerProperties listener = listener(prefix, record -> {
                throw new IllegalStateException("no room for this feature");
            });
            return container(ByteArrayDeserializer::new, listener, new DeadLetterPublishingRecoverer(template,
                (record, error) -> new TopicPartition(prefix + ".dlq", record.partition())), 0);
        }

        @RetryableTopic(attempts = "3", backOff = @BackOff(300), numPartitions = "3", replicationFactor = "1", autoStartDltHandler = "false")
        @KafkaListener(id = "retried", topics = "${prefix}.retried", groupId = "${prefix}.retried")
        void retried(ConsumerRecord<?, ?> record) {
            throw new IllegalStateException("the registry is closed", new java.io.IOException("no answer from registry 4"));
        }

        private ContainerProperties listener(String topic, MessageListener<Object, Object> takes) {
            ContainerProperties properties = new ContainerProperties(topic);
            properties.setGroupId(topic + ".listeners");
            properties.setMessageListener(takes);
            return properties;
        }

        private KafkaMessageListenerContainer<Object, Object> container(Supplier<Deserializer<?>> reads, ContainerProperties listener,
                DeadLetterPublishingRecoverer recoverer, int retries) {
            KafkaMessageListenerContainer<Object, Object> container = new KafkaMessageListenerContainer<>(consumers(reads), listener);
            container.setCommonErrorHandler(new DefaultErrorHandler(recoverer, new FixedBackOff(0, retries)));
            return container;
        }

        @SuppressWarnings("unchecked") // the listeners take objects of any kind
        private ConsumerFactory<Object, Object> consumers(Supplier<Deserializer<?>> reads) {
            return new DefaultKafkaConsumerFactory<>(
                Map.of(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, brokers, ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest"),
                () -> (Deserializer<Object>) reads.get(), () -> (Deserializer<Object>) reads.get());
        }
    }
}
