package foreign;

import java.util.Properties;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.LogAndContinueExceptionHandler;
import org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;

/**
 * A Kafka Streams application with a dead letter queue (KIP-1034). It divides by the values that it
 * reads: 0 fails in the topology, what is no integer fails in the deserializer, and 13 fails with an
 * exception that has no message.
 *
 * <p>Arguments: brokers, prefix of the topics and of the application's id, folder for its state.
 * It runs until it is ended.
 */
public final class StreamsLetters {
    public static void main(String[] args) throws InterruptedException {
        String brokers = args[0];
        String prefix = args[1];
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, brokers);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, prefix + ".streams");
        settings.put(StreamsConfig.STATE_DIR_CONFIG, args[2]);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        settings.put(StreamsConfig.ERRORS_DEAD_LETTER_QUEUE_TOPIC_NAME_CONFIG, prefix + ".streams-dlq");
        settings.put(StreamsConfig.DESERIALIZATION_EXCEPTION_HANDLER_CLASS_CONFIG, LogAndContinueExceptionHandler.class);
        settings.put(StreamsConfig.PROCESSING_EXCEPTION_HANDLER_CLASS_CONFIG, LogAndContinueProcessingExceptionHandler.class);

        StreamsBuilder topology = new StreamsBuilder();
        topology.stream(prefix + ".streams", Consumed.with(Serdes.String(), Serdes.Integer()))
            .mapValues(StreamsLetters::share)
            .to(prefix + ".streams-out", Produced.with(Serdes.String(), Serdes.Integer()));
        new KafkaStreams(topology.build(), settings).start();
        Thread.currentThread().join();
    }

    private static Integer share(Integer parts) {
        if (parts == 13) {
            throw new UnsupportedOperationException();
        }
        return 100 / parts;
    }
}
