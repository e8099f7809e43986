package foreign;

import java.util.Collection;
import java.util.List;
import java.util.Map;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/**
 * A sink that keeps nothing and reports the records it cannot take, as sinks of databases do: those
 * whose "level" is below 0, and, with an exception that has no message, those whose level is 13.
 */
public final class PickySink extends SinkConnector {
    private Map<String, String> settings;

    @Override
    public void start(Map<String, String> props) {
        settings = props;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return Picky.class;
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
    public static final class Picky extends SinkTask {
        @Override
        public void start(Map<String, String> props) {
        }

        @Override
        public void put(Collection<SinkRecord> records) {
            for (SinkRecord record : records) {
                int level = (Integer) ((Map<?, ?>) record.value()).get("level");
                if (level == 13) {
                    context.errantRecordReporter().report(record, new UnsupportedOperationException());
                } else if (level < 0) {
                    context.errantRecordReporter().report(record,
                        new IllegalStateException("no row for level " + level, new ArithmeticException("below 0")));
                }
            }
        }

        @Override
        public void stop() {
        }

        @Override
        public String version() {
            return "1";
        }
    }
}
