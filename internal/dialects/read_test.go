package dialects

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

var at = time.Date(2026, 11, 3, 4, 5, 6, 7e6, time.UTC)

func text(name, value string) kgo.RecordHeader {
	return kgo.RecordHeader{Key: name, Value: []byte(value)}
}

// int4 and long8 are java.nio.ByteBuffer.putInt and putLong, as Spring Kafka writes numbers.
func int4(name string, n int32) kgo.RecordHeader {
	return kgo.RecordHeader{Key: name, Value: binary.BigEndian.AppendUint32(nil, uint32(n))}
}

func long8(name string, n int64) kgo.RecordHeader {
	return kgo.RecordHeader{Key: name, Value: binary.BigEndian.AppendUint64(nil, uint64(n))}
}

// bigInt is java.math.BigInteger.toByteArray of a number from 0: the fewest bytes that fit it and a sign bit.
func bigInt(name string, n int64) kgo.RecordHeader {
	v := big.NewInt(n).Bytes()
	if len(v) == 0 || v[0] >= 0x80 {
		v = append([]byte{0}, v...)
	}
	return kgo.RecordHeader{Key: name, Value: v}
}

// springDLT is one death as DeadLetterPublishingRecoverer writes it.
func springDLT(partition int32, offset int64, message string) []kgo.RecordHeader {
	return []kgo.RecordHeader{
		text("kafka_dlt-original-topic", "features"), int4("kafka_dlt-original-partition", partition), long8("kafka_dlt-original-offset", offset),
		long8("kafka_dlt-original-timestamp", at.UnixMilli()), text("kafka_dlt-original-timestamp-type", "CreateTime"),
		text("kafka_dlt-original-consumer-group", "parcels"),
		text("kafka_dlt-exception-fqcn", "org.springframework.kafka.listener.ListenerExecutionFailedException"),
		text("kafka_dlt-exception-cause-fqcn", "java.lang.IllegalStateException"), text("kafka_dlt-exception-message", message),
		text("kafka_dlt-exception-stacktrace", "a.Wrapper: m\n\tat a.B.c(B.java:1)\nCaused by: java.lang.IllegalStateException: x\nCaused by: a.Root: no constant OPEN\n at [Source]\n\t... 3 more\n\tSuppressed: a.X\n\tCaused by: a.Y: z\n"),
	}
}

func springRetried(attempts []byte, partition int32, offset int64, message string) []kgo.RecordHeader {
	return []kgo.RecordHeader{
		text("kafka_original-topic", "features"), int4("kafka_original-partition", partition), long8("kafka_original-offset", offset),
		long8("kafka_original-timestamp", at.UnixMilli()), text("kafka_dlt-original-consumer-group", "parcels"),
		text("kafka_exception-fqcn", "a.Wrapper"), text("kafka_exception-cause-fqcn", "java.io.IOException"), text("kafka_exception-message", message),
		{Key: "retry_topic-attempts", Value: attempts}, bigInt("retry_topic-backoff-timestamp", at.UnixMilli()+2000),
		bigInt("retry_topic-original-timestamp", at.UnixMilli()-5000),
	}
}

func named(prefix string, pairs ...string) []kgo.RecordHeader {
	var out []kgo.RecordHeader
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, text(prefix+pairs[i], pairs[i+1]))
	}
	return out
}

func join(lists ...[]kgo.RecordHeader) []kgo.RecordHeader {
	var out []kgo.RecordHeader
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func four(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// The bytes are those that each library's own code writes; the wanted values are those that a person would read from
// them.
func TestRead_by_the_rules_of_each_library(t *testing.T) {
	spring := Letter{
		Dialect: Spring, Topic: "features", Partition: 3, Offset: 1042, HasPosition: true, Timestamp: at, Group: "parcels",
		ErrorClass: "org.springframework.kafka.listener.ListenerExecutionFailedException", CauseClass: "java.lang.IllegalStateException", ErrorMessage: "boom", CausedBy: "a.Root: no constant OPEN",
	}
	again := spring
	again.ErrorMessage = "boom again"
	retried := Letter{
		Dialect: SpringRetry, Topic: "features", Partition: 3, Offset: 1042, HasPosition: true, Timestamp: at, Group: "parcels", ErrorClass: "a.Wrapper",
		CauseClass: "java.io.IOException", ErrorMessage: "second", Attempts: 2, Due: at.Add(2 * time.Second), FirstAt: at.Add(-5 * time.Second),
	}
	connectHeaders := named("__connect.errors.", "topic", "features", "partition", "3", "offset", "1042", "connector.name", "postgis-sink", "task.id", "0",
		"stage", "VALUE_CONVERTER", "class.name", "org.apache.kafka.connect.json.JsonConverter", "exception.class.name", "org.apache.kafka.connect.errors.DataException", "exception.message", "no schema",
		"exception.stacktrace", "o.DataException: no schema\n\tat a.B.c(B.java:1)\nCaused by: a.Middle: x\n\t... 3 more\nCaused by: a.b.Outer$Root\r\n\tat a.B.d(B.java:2)\n")
	connected := Letter{
		Dialect: Connect, Topic: "features", Partition: 3, Offset: 1042, HasPosition: true, Group: "postgis-sink", Stage: "VALUE_CONVERTER",
		ErrorClass: "org.apache.kafka.connect.errors.DataException", CauseClass: "a.b.Outer$Root", ErrorMessage: "no schema", CausedBy: "a.b.Outer$Root",
	}
	streamed := Letter{Dialect: Streams, Topic: "features", Partition: 3, Offset: 1042, HasPosition: true, ErrorClass: "java.lang.ArithmeticException", ErrorMessage: "/ by zero"}
	small := Letter{
		Dialect: SmallRye, Topic: "features", Partition: 3, Offset: 1042, HasPosition: true, ErrorClass: "java.lang.IllegalArgumentException",
		CauseClass: "java.lang.NumberFormatException", ErrorMessage: "N/A",
	}
	for _, c := range []struct {
		name    string
		headers []kgo.RecordHeader
		want    Letter
	}{
		{"spring", springDLT(3, 1042, "boom"), spring},
		{"spring, dead twice: first origin, last exception", join(springDLT(3, 1042, "boom"), springDLT(0, 7, "boom again")), again},
		{"spring retry, once for each hop", join(springRetried(four(2), 3, 1042, "first"), springRetried(four(3), 3, 1042, "second")), retried},
		{"spring retry, attempts of one byte", join(springRetried([]byte{2}, 3, 1042, "first"), springRetried([]byte{3}, 3, 1042, "second")), retried},
		{"spring, of the key", []kgo.RecordHeader{
			text("kafka_dlt-original-topic", "features"), int4("kafka_dlt-original-partition", 3), long8("kafka_dlt-original-offset", 1042),
			text("kafka_dlt-exception-fqcn", "of an earlier death"), text("kafka_dlt-exception-message", "of an earlier death"),
			text("kafka_dlt-key-exception-fqcn", "a.DeserializationException"), text("kafka_dlt-exception-cause-fqcn", "a.Cause"), text("kafka_dlt-key-exception-message", "bad key"),
		}, Letter{Dialect: Spring, Topic: "features", Partition: 3, Offset: 1042, HasPosition: true, ErrorClass: "a.DeserializationException", CauseClass: "a.Cause", ErrorMessage: "bad key", Stage: "key"}},
		{"connect", connectHeaders, connected},
		{"connect, doubled by a redrive", join(named("__connect.errors.", "topic", "old", "partition", "0", "offset", "1", "connector.name", "old"), connectHeaders), connected},
		{"streams", named("__streams.errors.", "exception", "java.lang.ArithmeticException", "stacktrace", "…\n\tSuppressed: a.X: y\n\tCaused by: a.Y\nCaused by: no class, a sentence\nCaused by: a.B\xff", "message", "/ by zero", "topic", "features", "partition", "3", "offset", "1042"), streamed},
		{"bakdata, with the prefix of streams", named("__streams.errors.", "exception.class.name", "a.B", "exception.message", "m", "topic", "features", "partition", "3", "offset", "1042", "processor.node.id", "map-1"),
			Letter{Dialect: Bakdata, Topic: "features", Partition: 3, Offset: 1042, HasPosition: true, ErrorClass: "a.B", ErrorMessage: "m", Stage: "map-1"}},
		{"smallrye, dead twice: the first is the newest", join(
			named("dead-letter-", "exception-class-name", "java.lang.IllegalArgumentException", "cause-class-name", "java.lang.NumberFormatException", "reason", "N/A", "topic", "features", "partition", "3", "offset", "1042"),
			named("dead-letter-", "exception-class-name", "old", "reason", "old", "topic", "old", "partition", "0", "offset", "1")), small},
		{"smallrye, through delayed retry: the last names the source", join(
			named("delayed-retry-", "count", "2", "exception-class-name", "java.lang.IllegalArgumentException", "cause-class-name", "java.lang.NumberFormatException", "reason", "N/A", "topic", "features_retry_10000", "partition", "1", "offset", "5"),
			named("delayed-retry-", "topic", "features", "partition", "3", "offset", "1042", "original-timestamp", "1793678706007")),
			Letter{Dialect: SmallRye, Topic: "features", Partition: 3, Offset: 1042, HasPosition: true, ErrorClass: small.ErrorClass, CauseClass: small.CauseClass, ErrorMessage: "N/A", Attempts: 2, Timestamp: time.UnixMilli(1793678706007).UTC()}},
		{"share group, over the headers of the record", join(connectHeaders, named("__dlq.errors.", "topic", "features", "partition", "3", "offset", "1042", "group", "share-1", "delivery.count", "5", "message", "Offset delivery count exceeded the threshold.")),
			Letter{Dialect: ShareGroup, Topic: "features", Partition: 3, Offset: 1042, HasPosition: true, Group: "share-1", Attempts: 5, ErrorMessage: "Offset delivery count exceeded the threshold.", Pointer: true}},
		{"watermill, no position", named("", "reason_poisoned", "cannot parse", "topic_poisoned", "features", "handler_poisoned", "h", "subscriber_poisoned", "s"),
			Letter{Dialect: Watermill, Topic: "features", ErrorMessage: "cannot parse", Group: "h"}},
		{"karafka", named("source_", "topic", "features", "partition", "3", "offset", "1042", "consumer_group", "g", "attempts", "4"),
			Letter{Dialect: Karafka, Topic: "features", Partition: 3, Offset: 1042, HasPosition: true, Group: "g", Attempts: 4}},
		{"karafka before 2.5", named("original_", "topic", "features", "partition", "3", "offset", "1042"),
			Letter{Dialect: Karafka, Topic: "features", Partition: 3, Offset: 1042, HasPosition: true}},
		{"trendyol, nanoseconds", named("x-", "retry-count", "1", "retry-attempt-count", "3", "produce-time", "1793678706007000000", "error-message", "boom"),
			Letter{Dialect: Trendyol, Attempts: 3, Timestamp: time.UnixMilli(1793678706007).UTC(), ErrorMessage: "boom"}},
		{"wolverine", named("", "exception-type", "System.FormatException", "exception-message", "bad", "original-destination", "kafka://topic/features", "original-partition", "3", "original-offset", "1042", "attempts", "3"),
			Letter{Dialect: Wolverine, Topic: "features", Partition: 3, Offset: 1042, HasPosition: true, ErrorClass: "System.FormatException", ErrorMessage: "bad", Attempts: 3}},
		{"Spring Cloud Stream", []kgo.RecordHeader{
			text("x-original-topic", "features"), int4("x-original-partition", 3), long8("x-original-offset", 1042), long8("x-original-timestamp", at.UnixMilli()),
			text("x-original-timestamp-type", "CreateTime"), text("x-exception-fqcn", "a.MessageHandlingException"), text("x-exception-message", "boom"),
			text("x-exception-stacktrace", "a.MessageHandlingException: boom\n\tat a.B.c(B.java:1)\nCaused by: java.lang.IllegalStateException: x\n"),
		}, Letter{
			Dialect: XOriginal, Topic: "features", Partition: 3, Offset: 1042, HasPosition: true, Timestamp: at, ErrorClass: "a.MessageHandlingException", CauseClass: "java.lang.IllegalStateException", ErrorMessage: "boom", CausedBy: "java.lang.IllegalStateException: x",
		}},
		{"home-made", named("x-original-", "topic", "features", "partition", "3", "offset", "1042"),
			Letter{Dialect: XOriginal, Topic: "features", Partition: 3, Offset: 1042, HasPosition: true}},
		{"nobody", named("", "trace", "1"), Letter{Dialect: Unknown}},
		{"our own", named("switchback-", "attempt", "1"), Letter{Dialect: Native}},
		{"our own, of a record that died elsewhere before", join(springDLT(3, 1042, "boom"), named("switchback-", "error-code", "geometry_invalid")), Letter{Dialect: Native}},
		{"put back by us, and dead again in other software", join(named("switchback-", "replay-id", "r-1", "dead-letter-id", "dlq-0-1"), springDLT(3, 1042, "boom")), spring},
	} {
		got := Read(Detect(c.headers), c.headers)
		expect.That(t, reflect.DeepEqual(got, c.want), "%v: \n got %+v\nwant %+v", c.name, got, c.want)
	}
}

// Values that the library does not write are reported, and never read as a number.
func TestRead_says_what_it_cannot_understand(t *testing.T) {
	for name, headers := range map[string][]kgo.RecordHeader{
		"a partition of three bytes": {text("kafka_dlt-original-topic", "f"), text("kafka_dlt-original-partition", "\x00\x00\x03"), long8("kafka_dlt-original-offset", 1)},
		"a partition beyond all":     {text("kafka_dlt-original-topic", "f"), int4("kafka_dlt-original-partition", 1<<30), long8("kafka_dlt-original-offset", 1)},
		"an offset of no bytes":      {text("x-original-topic", "f"), text("x-original-partition", "3"), text("x-original-offset", "")},
		"an offset below 0":          {text("kafka_dlt-original-topic", "f"), int4("kafka_dlt-original-partition", 3), long8("kafka_dlt-original-offset", -1)},
		"a decimal that is none":     named("__connect.errors.", "connector.name", "c", "topic", "f", "partition", "three", "offset", "1"),
		"no bytes for a big integer": {{Key: "retry_topic-attempts", Value: four(1)}, {Key: "retry_topic-backoff-timestamp"}},
		"too many attempts":          {{Key: "retry_topic-attempts", Value: four(40000)}},
	} {
		l := Read(Detect(headers), headers)
		expect.That(t, len(l.Problems) != 0 && !l.HasPosition, "%s: %+v", name, l)
	}
}

// A stack trace of any length and form is read once, and results in a readable line.
func TestRead_C4_hostile_stack_traces(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct{ trace, class, cause string }{
		"one endless line":         {"Caused by: a.B: " + long, "a.B", "a.B: " + long[:maxCausedBy-len("a.B: ")]},
		"thousands that name none": {strings.Repeat("\nCaused by: no class!", 50_000) + "\nCaused by: a.B: m", "a.B", "a.B: m"},
		"thousands behind one":     {"\nCaused by: a.B: m" + strings.Repeat("\nCaused by: no class!", 50_000), "", ""},
		"no new line":              {"a.B: m Caused by: a.C: d", "", ""},
		"an endless class":         {"Caused by: " + long, "", ""},
		"no text":                  {"Caused by: a.B: \xff\x00\x1b[31m", "a.B", "a.B: \uFFFD\x00\x1b[31m"},
	} {
		headers := named("__connect.errors.", "connector.name", "c", "exception.stacktrace", c.trace)
		var l Letter
		allocations := testing.AllocsPerRun(1, func() { l = Read(Connect, headers) })
		expect.That(t, l.CauseClass == c.class && l.CausedBy == c.cause && allocations < 50, "%s: class %.80q, caused by %.80q, %.0f allocations", name, l.CauseClass, l.CausedBy, allocations)
	}
}

// Numbers are read as text and as 1, 2, 4 or 8 bytes in every dialect, whatever form the dialect itself uses.
func TestRead_C4_numbers_of_every_width(t *testing.T) {
	forms := map[string]func(n int64) []byte{
		"text":                               func(n int64) []byte { return []byte(strconv.FormatInt(n, 10)) },
		"text with zeros, as wide as an int": func(n int64) []byte { return fmt.Appendf(nil, "%04d", n) },
		"text, as wide as a long":            func(n int64) []byte { return fmt.Appendf(nil, "%08d", n) },
		"one byte":                           func(n int64) []byte { return []byte{byte(n)} },
		"two bytes":                          func(n int64) []byte { return binary.BigEndian.AppendUint16(nil, uint16(n)) },
		"four bytes":                         func(n int64) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) },
		"eight bytes":                        func(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) },
	}
	for d, names := range map[Dialect][4]string{
		Spring:      {"kafka_dlt-original-topic", "kafka_dlt-original-partition", "kafka_dlt-original-offset", "kafka_deliveryAttempt"},
		SpringRetry: {"kafka_original-topic", "kafka_original-partition", "kafka_original-offset", ""},
		Connect:     {"__connect.errors.topic", "__connect.errors.partition", "__connect.errors.offset", ""},
		Streams:     {"__streams.errors.topic", "__streams.errors.partition", "__streams.errors.offset", ""},
		Bakdata:     {"__streams.errors.topic", "__streams.errors.partition", "__streams.errors.offset", ""},
		SmallRye:    {"dead-letter-topic", "dead-letter-partition", "dead-letter-offset", "delayed-retry-count"},
		ShareGroup:  {"__dlq.errors.topic", "__dlq.errors.partition", "__dlq.errors.offset", "__dlq.errors.delivery.count"},
		Karafka:     {"source_topic", "source_partition", "source_offset", "source_attempts"},
		Wolverine:   {"original-destination", "original-partition", "original-offset", "attempts"},
		XOriginal:   {"x-original-topic", "x-original-partition", "x-original-offset", ""},
	} {
		for form, write := range forms {
			headers := []kgo.RecordHeader{text(names[0], "f"), {Key: names[1], Value: write(3)}, {Key: names[2], Value: write(104)}}
			if names[3] != "" {
				headers = append(headers, kgo.RecordHeader{Key: names[3], Value: write(7)})
			}
			l := Read(d, headers)
			expect.That(t, l.HasPosition && l.Topic == "f" && l.Partition == 3 && l.Offset == 104 && (names[3] == "" || l.Attempts == 7) && l.Problems == nil, "%s, %s: %+v", d, form, l)
		}
	}
	for _, value := range [][]byte{[]byte("1793678706007"), binary.BigEndian.AppendUint64(nil, 1793678706007), bigInt("", 1793678706007).Value} {
		l := Read(XOriginal, []kgo.RecordHeader{{Key: "x-original-timestamp", Value: value}})
		expect.That(t, l.Timestamp.UnixMilli() == 1793678706007 && l.Problems == nil, "%q: %+v", value, l)
	}
}

// A record that died in one system, was put back, and died in another one, is a dead letter of the second, whichever they are.
func TestDetect_C4_the_newest_headers_count(t *testing.T) {
	deaths := map[Dialect][]kgo.RecordHeader{
		Native: named("switchback-", "error-code", "geometry_invalid"), Spring: springDLT(3, 1, "m"), SpringRetry: springRetried(four(2), 3, 1, "m"),
		Connect: named("__connect.errors.", "topic", "f", "connector.name", "c"), Streams: named("__streams.errors.", "exception", "e", "topic", "f"),
		Bakdata: named("__streams.errors.", "exception.class.name", "e", "topic", "f"), ShareGroup: named("__dlq.errors.", "topic", "f", "group", "g"),
		Karafka: named("source_", "topic", "f", "offset", "1"), Trendyol: named("x-", "retry-count", "1"),
		Wolverine: named("", "exception-type", "e", "original-destination", "kafka://topic/f"), XOriginal: named("x-original-", "topic", "f"),
	}
	own := named("", "trace", "1")
	for first, before := range deaths {
		for second, after := range deaths {
			expect.Equal(t, Detect(join(own, before, after)), second, "dead in", first, "and then in another")
		}
		for other, headers := range map[Dialect][]kgo.RecordHeader{
			SmallRye: named("dead-letter-", "reason", "r", "topic", "f"), Watermill: named("", "reason_poisoned", "r", "topic_poisoned", "f"),
		} {
			for _, both := range [][]kgo.RecordHeader{join(headers, own, before), join(own, before, headers)} {
				expect.Equal(t, Detect(both), first, "beside", other, "of some time")
				l := Read(first, both)
				expect.That(t, first == Native || len(l.Problems) != 0 && strings.Contains(l.Problems[len(l.Problems)-1], string(other)+": it is unknown which are newer"),
					"%s, and %s at an unknown time: no problem mentions it: %q", first, other, l.Problems)
			}
		}
	}
}

func TestCause_is_the_short_name_of_what_is_behind(t *testing.T) {
	for _, c := range []struct {
		l    Letter
		want string
	}{
		{Letter{ErrorClass: "a.Wrapper", CauseClass: "java.lang.NullPointerException"}, "NullPointerException"},
		{Letter{ErrorClass: "a.b.Outer$Inner"}, "Inner"}, {Letter{ErrorClass: "Plain"}, "Plain"}, {Letter{}, ""},
	} {
		expect.Equal(t, c.l.Cause(), c.want, c.l)
	}
}

func TestIsOwn_every_header_that_is_read_is_the_frameworks(t *testing.T) {
	for _, headers := range [][]kgo.RecordHeader{
		springDLT(1, 2, "m"), springRetried(four(1), 1, 2, "m"), named("__connect.errors.", "connector.name", "c", "topic", "t"),
		named("__streams.errors.", "exception", "e"), named("dead-letter-", "topic", "t"), named("__dlq.errors.", "group", "g"),
		named("", "topic_poisoned", "t", "reason_poisoned", "r"), named("source_", "topic", "t", "offset", "1"), named("x-", "retry-count", "1"),
		named("", "original-destination", "d", "exception-type", "e", "attempts", "1"), named("x-original-", "topic", "t"), named("switchback-", "attempt", "1"),
	} {
		d := Detect(headers)
		for _, h := range headers {
			expect.That(t, IsOwn(d, h.Key), "%s: the headers of %s are not recognized as its own", d, h.Key)
		}
		expect.That(t, !IsOwn(d, "traceparent") && !IsOwn(d, "ce_id"), "%s treats the producer's headers as its own", d)
	}
}

// FuzzRead: headers are untrusted input.
func FuzzRead(f *testing.F) {
	for i := range Dialects() {
		f.Add(i, "kafka_dlt-original-topic", []byte("t"), "retry_topic-attempts", []byte{0, 0, 0, 1}, "kafka_original-partition", []byte{1})
	}
	f.Add(2, "retry_topic-backoff-timestamp", []byte{0xff}, "retry_topic-attempts", []byte{0xff}, "kafka_original-topic", []byte("\xff"))
	f.Fuzz(func(t *testing.T, which int, a string, av []byte, b string, bv []byte, c string, cv []byte) {
		headers := []kgo.RecordHeader{{Key: a, Value: av}, {Key: b, Value: bv}, {Key: c, Value: cv}, {Key: a, Value: bv}}
		for _, d := range []Dialect{Dialects()[uint(which)%uint(len(Dialects()))], Detect(headers)} {
			l := Read(d, headers)
			expect.That(t, !l.HasPosition || l.Topic != "" && l.Partition >= 0 && l.Partition <= maxPartition && l.Offset >= 0, "%s: position %+v", d, l)
			expect.That(t, l.Attempts >= 0 && len(l.ErrorMessage) <= 3*maxText, "%s: %+v", d, l)
		}
	})
}

// golden is a file of testdata: the headers of a dead letter as the library itself wrote them, and which record died.
// TestForeign in the folder integration makes these files (-foreign.update) and compares the replayer's results with
// them.
type golden struct {
	Library string
	Source  struct {
		Topic     string
		Partition int32
		Offset    int64
		Timestamp time.Time
	}
	Headers []struct {
		Key, Text string
		Base64    []byte
	}
}

func readGolden(t *testing.T, name string) (golden, []kgo.RecordHeader) {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("testdata", name+".json")))(t)
	var g golden
	must.Do(t, json.Unmarshal(text, &g))
	var headers []kgo.RecordHeader
	for _, h := range g.Headers {
		headers = append(headers, kgo.RecordHeader{Key: h.Key, Value: append(h.Base64, h.Text...)})
	}
	return g, headers
}

// The headers that each library really wrote are read like a person who knows which record died and why. Topic,
// partition, offset and time are those that the producer of that record received.
func TestRead_C4_what_the_real_libraries_wrote(t *testing.T) {
	const (
		wrapper       = "org.springframework.kafka.listener.ListenerExecutionFailedException"
		unreadable    = "org.springframework.kafka.support.serializer.DeserializationException"
		serialization = "org.apache.kafka.common.errors.SerializationException"
		notFour       = "Size of data received by IntegerDeserializer is not 4"
		data          = "org.apache.kafka.connect.errors.DataException"
		unsupported   = "java.lang.UnsupportedOperationException"
	)
	for name, want := range map[string]Letter{
		"spring":                  {Dialect: Spring, ErrorClass: wrapper, CauseClass: "java.lang.IllegalStateException", ErrorMessage: "Listener failed; ring 7 is not closed", Attempts: 3, CausedBy: "java.lang.IllegalStateException: ring 7 is not closed"},
		"spring-again":            {Dialect: Spring, ErrorClass: wrapper, CauseClass: "java.lang.IllegalArgumentException", ErrorMessage: "Listener failed; no desk takes this letter", CausedBy: "java.lang.ArithmeticException: 0 desks"},
		"spring-redriven":         {Dialect: Spring, ErrorClass: wrapper, CauseClass: "java.lang.IllegalStateException", ErrorMessage: "Listener failed; ring 7 is not closed", Attempts: 3, CausedBy: "java.lang.IllegalStateException: ring 7 is not closed"},
		"spring-value":            {Dialect: Spring, ErrorClass: unreadable, CauseClass: unreadable, ErrorMessage: "failed to deserialize", CausedBy: serialization + ": " + notFour},
		"spring-key":              {Dialect: Spring, ErrorClass: unreadable, CauseClass: unreadable, ErrorMessage: "failed to deserialize", Stage: "key", CausedBy: serialization + ": " + notFour},
		"spring-both":             {Dialect: Spring, ErrorClass: unreadable, CauseClass: unreadable, ErrorMessage: "failed to deserialize", CausedBy: serialization + ": " + notFour},
		"spring-retry-waiting":    {Dialect: SpringRetry, ErrorClass: wrapper, CauseClass: "java.lang.IllegalStateException", ErrorMessage: "Listener failed; the registry is closed", Attempts: 1, CausedBy: "java.io.IOException: no answer from registry 4"},
		"spring-retry":            {Dialect: SpringRetry, ErrorClass: wrapper, CauseClass: "java.lang.IllegalStateException", ErrorMessage: "Listener failed; the registry is closed", Attempts: 3, CausedBy: "java.io.IOException: no answer from registry 4"},
		"spring-retry-redriven":   {Dialect: SpringRetry, ErrorClass: wrapper, CauseClass: "java.lang.IllegalStateException", ErrorMessage: "Listener failed; the registry is closed", Attempts: 4, CausedBy: "java.io.IOException: no answer from registry 4"},
		"connect-converter":       {Dialect: Connect, ErrorClass: data, CauseClass: "com.fasterxml.jackson.core.io.JsonEOFException", Stage: "VALUE_CONVERTER", ErrorMessage: "Converting byte[] to Kafka Connect data failed due to serialization error: ", CausedBy: "com.fasterxml.jackson.core.io.JsonEOFException: Unexpected end-of-input within/between Object entries"},
		"connect-transform":       {Dialect: Connect, ErrorClass: data, CauseClass: "java.lang.NumberFormatException", Stage: "TRANSFORMATION", ErrorMessage: "Value (N/A) was out of range for requested data type", CausedBy: `java.lang.NumberFormatException: For input string: "N/A"`},
		"connect-put":             {Dialect: Connect, ErrorClass: "java.lang.IllegalStateException", CauseClass: "java.lang.ArithmeticException", Stage: "TASK_PUT", ErrorMessage: "no row for level -1", CausedBy: "java.lang.ArithmeticException: below 0"},
		"connect-no-message":      {Dialect: Connect, ErrorClass: unsupported, Stage: "TASK_PUT"},
		"connect-redriven":        {Dialect: Connect, ErrorClass: data, CauseClass: "com.fasterxml.jackson.core.io.JsonEOFException", Stage: "VALUE_CONVERTER", ErrorMessage: "Converting byte[] to Kafka Connect data failed due to serialization error: ", CausedBy: "com.fasterxml.jackson.core.io.JsonEOFException: Unexpected end-of-input within/between Object entries"},
		"streams-processing":      {Dialect: Streams, ErrorClass: "java.lang.ArithmeticException", ErrorMessage: "/ by zero"},
		"streams-deserialization": {Dialect: Streams, ErrorClass: serialization, ErrorMessage: notFour},
		"streams-no-message":      {Dialect: Streams, ErrorClass: unsupported},
		"streams-redriven":        {Dialect: Streams, ErrorClass: "java.lang.ArithmeticException", ErrorMessage: "/ by zero"},
	} {
		t.Run(name, func(t *testing.T) {
			g, headers := readGolden(t, name)
			want.Topic, want.Partition, want.Offset, want.HasPosition = g.Source.Topic, g.Source.Partition, g.Source.Offset, true
			if !KeepsTimestamp(want.Dialect) {
				want.Timestamp = g.Source.Timestamp
			}
			got := Read(Detect(headers), headers)
			checkRetry(t, &want, &got)
			checkGroup(t, &want, &got)
			expect.That(t, reflect.DeepEqual(got, want), "%s:\n got %+v\nwant %+v", g.Library, got, want)
			for _, h := range headers {
				own := h.Key != "ce_id"
				expect.That(t, IsOwn(got.Dialect, h.Key) == own, "header %s is the library's own: %t", h.Key, own)
			}
		})
	}
}

// checkRetry checks the times of a retry topic, which differ with each run: the first is that of the record, and the
// next attempt is later.
func checkRetry(t *testing.T, want, got *Letter) {
	t.Helper()
	if want.Dialect != SpringRetry {
		return
	}
	want.FirstAt = want.Timestamp
	expect.That(t, !got.Due.Before(want.FirstAt) && !got.Due.After(time.Now()), "due at %s", got.Due)
	want.Due = got.Due
}

// checkGroup checks the group of the failed consumer. The run has chosen its name: a prefix, a point and a word.
func checkGroup(t *testing.T, want, got *Letter) {
	t.Helper()
	prefix, _, _ := strings.Cut(want.Topic, ".")
	if got.Dialect == Streams {
		return // it writes no group
	}
	expect.That(t, strings.HasPrefix(got.Group, prefix), "group %q", got.Group)
	want.Group = got.Group
}
