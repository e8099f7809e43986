package integration

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/jars"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// C-4, S4-8: the replayer recognizes the dead letters of real libraries by their headers and reads them correctly,
// including which of several equal headers counts. When Spring fails on a replayed record again, the replayer notices.
// The Java programs are in the folder foreign.
func TestForeign_C4_letters_of_the_real_libraries(t *testing.T) {
	parallel(t, testrun.Nightly)
	j := compileForeign(t, sharedEnvironment(t))
	t.Run("spring", func(t *testing.T) { t.Parallel(); springDeadLetters(t, j) })
	t.Run("spring_beside_a_pipeline", func(t *testing.T) { t.Parallel(); springInPipelineDLQ(t, j) })
	t.Run("connect", func(t *testing.T) { t.Parallel(); connectDeadLetters(t, j) })
	t.Run("streams", func(t *testing.T) { t.Parallel(); streamsDeadLetters(t, j) })
}

func int32Bytes(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

const (
	springWrapper = "org.springframework.kafka.listener.ListenerExecutionFailedException"
	springUnread  = "org.springframework.kafka.support.serializer.DeserializationException"
	unreadable    = "org.apache.kafka.common.errors.SerializationException"
	notFour       = "Size of data received by IntegerDeserializer is not 4"
)

func springDeadLetters(t *testing.T, j java) {
	d := newForeignDLQ(t, "spring", "spring-dlt", "spring-again", "numbers", "numbers-dlt", "retried", "retried-retry", "retried-dlt")
	d.sendFailing("spring", "first", []byte("{}"))
	plain := d.sendFailing("spring", "f-1", []byte(`{"type":"Feature"}`))
	value, key, both := d.sendFailing("numbers", string(int32Bytes(7)), []byte("N/A!!")), d.sendFailing("numbers", "no-number", int32Bytes(8)), d.sendFailing("numbers", "no-number-either", []byte("N/A"))
	d.sendFailing("retried", "first", []byte("{}"))
	retried := d.sendFailing("retried", "f-2", []byte{0xff, 0x00})
	d.startLibrary(j, "foreign.SpringLetters", strings.Join(d.set.Brokers, ","), d.prefix)

	once := foreignError{Class: springWrapper, Code: "IllegalStateException", CauseClass: "java.lang.IllegalStateException", Message: "Listener failed; ring 7 is not closed"}
	twice := foreignError{Class: springWrapper, Code: "IllegalArgumentException", CauseClass: "java.lang.IllegalArgumentException", Message: "Listener failed; no desk takes this letter"}
	unread := foreignError{Class: springUnread, Code: "DeserializationException", CauseClass: springUnread, Message: "failed to deserialize"}
	unreadKey := unread
	unreadKey.Stage = "key"
	closedError := foreignError{Class: springWrapper, Code: "IllegalStateException", CauseClass: "java.lang.IllegalStateException", Message: "Listener failed; the registry is closed"}
	d.wantDeadLetters(
		wantedDeadLetter{dlq: "spring-dlt", key: "f-1", nth: 1, source: plain, dialect: "spring", error: once, attempts: 3, golden: "spring"},
		wantedDeadLetter{dlq: "spring-again", key: "f-1", nth: 1, source: plain, dialect: "spring", error: twice, golden: "spring-again"},
		wantedDeadLetter{dlq: "numbers-dlt", key: string(value.Key), nth: 1, source: value, dialect: "spring", error: unread, golden: "spring-value"},
		wantedDeadLetter{dlq: "numbers-dlt", key: string(key.Key), nth: 1, source: key, dialect: "spring", error: unreadKey, golden: "spring-key"},
		wantedDeadLetter{dlq: "numbers-dlt", key: string(both.Key), nth: 1, source: both, dialect: "spring", error: unread, golden: "spring-both"},
		wantedDeadLetter{dlq: "retried-retry", key: "f-2", nth: 1, source: retried, dialect: "spring-retry", error: closedError, attempts: 1, golden: "spring-retry-waiting"},
		wantedDeadLetter{dlq: "retried-retry", key: "f-2", nth: 2, source: retried, dialect: "spring-retry", error: closedError, attempts: 2},
		wantedDeadLetter{dlq: "retried-dlt", key: "f-2", nth: 1, source: retried, dialect: "spring-retry", error: closedError, attempts: 3, golden: "spring-retry"},
	)
	// After a redrive with all headers, the record fails again. Its source is still the first record.
	d.redrive("spring", d.waitForDeadLetter("spring-dlt", "f-1", 1))
	d.redrive("retried", d.waitForDeadLetter("retried-dlt", "f-2", 1))
	d.wantDeadLetters(
		wantedDeadLetter{dlq: "spring-dlt", key: "f-1", nth: 2, source: plain, dialect: "spring", error: once, attempts: 3, golden: "spring-redriven"},
		wantedDeadLetter{dlq: "retried-dlt", key: "f-2", nth: 2, source: retried, dialect: "spring-retry", error: closedError, attempts: 4, golden: "spring-retry-redriven"},
	)
}

// Spring writes a dead letter to the pipeline's own DLQ. The replay has the producer's headers and value plus our
// headers. When Spring fails again, the new record is the same dead letter, still in Spring's dialect.
func springInPipelineDLQ(t *testing.T, j java) {
	d := newForeignDLQ(t, "spring", "spring-dlt", "numbers", "retried")
	sent := d.send("f-3")[0]
	d.startLibrary(j, "foreign.SpringLetters", strings.Join(d.set.Brokers, ","), d.prefix)
	first := wantedDeadLetter{
		dlq: "dlq", key: "f-3", nth: 1, source: sent, dialect: "spring",
		error: foreignError{Class: springWrapper, Code: "IllegalStateException", CauseClass: "java.lang.IllegalStateException", Message: "Listener failed; no room for this feature"},
	}
	d.wantDeadLetters(first)
	code, out := d.replay("--execute")
	must.That(t, code == 0, "exit code %d\n%s", code, out)
	back := d.read(d.topics.Source)[1]
	theirs := slices.DeleteFunc(slices.Clone(back.Headers), func(h kgo.RecordHeader) bool { return strings.HasPrefix(h.Key, "switchback-") })
	expect.That(t, string(back.Value) == string(sent.Value) && back.Partition == sent.Partition && slices.EqualFunc(theirs, sent.Headers, sameHeader), "reinjected:\n%s\nsent:\n%s", topiclog.Describe(back), topiclog.Describe(sent))
	was, again := d.waitForDeadLetter("dlq", "f-3", 1), d.waitForDeadLetter("dlq", "f-3", 2)
	deadLetter := d.listDeadLetters("dlq")[foreignPlace{again.Topic, again.Partition, again.Offset}]
	source := foreignPlace{back.Topic, back.Partition, back.Offset}
	id := fmt.Sprintf("dlq-%d-%d", was.Partition, was.Offset)
	expect.That(t, deadLetter.Dialect == "spring" && deadLetter.ID == id && deadLetter.Source == source && deadLetter.Error == first.error, "failed again: %+v, want the dead letter %s in Spring's dialect with the source %v", deadLetter, id, source)
	d.wantFailedAgain(deadLetter.ID, again)
}

// wantFailedAgain checks what the replayer reads from Spring's dead letters about its replays: the dead letter is
// pending after each new failure, and escalated after the third replay. Reading writes nothing to the status topic.
func (d *foreignDLQ) wantFailedAgain(id string, again *kgo.Record) {
	d.t.Helper()
	for replay := 1; ; replay++ {
		replayID, _ := topiclog.Header(again, "switchback-replay-id")
		want, escalated := "pending", 0
		if replay == 3 {
			want, escalated = "escalated", 1
		}
		for range 2 {
			r := d.run("replayer", "replays", "-c", d.file, replayID, "--wait")
			var report struct {
				Attempted   int
				FailedAgain int `json:"failed_again"`
				Escalated   int
				UnderWay    int `json:"under_way"`
				Reprocessed int
				Reasons     map[string]int
			}
			if err := json.Unmarshal([]byte(r.Stdout), &report); err != nil || r.Code != 4 || report.Attempted != 1 || report.FailedAgain != 1 || report.Escalated != escalated ||
				report.UnderWay+report.Reprocessed != 0 || report.Reasons["failed again: IllegalStateException"] != 1 {
				d.t.Errorf("status of replay %d: %s", replay, r)
			}
			got := d.listDeadLetters("dlq")[foreignPlace{again.Topic, again.Partition, again.Offset}]
			expect.That(d.t, got.ID == id && got.Status == want, "after replay %d: %+v, want the status %s", replay, got, want)
		}
		r := d.run("replayer", "index", "-c", d.file, "--check")
		expect.That(d.t, r.Code == 0, "the index: %s", r)
		code, out := d.replay("--execute")
		if replay == 3 {
			expect.That(d.t, code == exitNothing, "a replay took an escalated dead letter: exit code %d\n%s", code, out)
			break
		}
		must.That(d.t, code == 0, "exit code %d\n%s", code, out)
		again = d.waitForDeadLetter("dlq", "f-3", replay+2)
	}
	states := d.states()
	expect.That(d.t, states[id].Status == "replaying" && states[id].ReprocessCount == 2, "want the third replay as last state in the status topic: %+v", states[id])
}

func sameHeader(a, b kgo.RecordHeader) bool {
	return a.Key == b.Key && string(a.Value) == string(b.Value)
}

func connectDeadLetters(t *testing.T, j java) {
	d := newForeignDLQ(t, "connect", "connect-dlq")
	d.sendFailing("connect", "well", []byte(`{"level":3}`))
	broken := d.sendFailing("connect", "broken", []byte(`{"level":`))
	cast := d.sendFailing("connect", "cast", []byte(`{"level":"N/A"}`))
	refused := d.sendFailing("connect", "refused", []byte(`{"level":-1}`))
	silent := d.sendFailing("connect", "silent", []byte(`{"level":13}`))
	worker := properties(t, map[string]string{
		"bootstrap.servers": strings.Join(d.set.Brokers, ","), "listeners": "http://127.0.0.1:0", "plugin.discovery": "service_load",
		"offset.storage.file.filename": filepath.Join(t.TempDir(), "offsets"),
		"key.converter":                "org.apache.kafka.connect.storage.StringConverter",
		"value.converter":              "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false",
	})
	sink := properties(t, map[string]string{
		"name": d.prefix, "connector.class": "foreign.PickySink", "tasks.max": "1", "topics": d.topic("connect"),
		"transforms": "whole", "transforms.whole.type": "org.apache.kafka.connect.transforms.Cast$Value", "transforms.whole.spec": "level:int32",
		"errors.tolerance": "all", "errors.deadletterqueue.topic.name": d.topic("connect-dlq"),
		"errors.deadletterqueue.topic.replication.factor": "1", "errors.deadletterqueue.context.headers.enable": "true",
	})
	d.startLibrary(j, "org.apache.kafka.connect.cli.ConnectStandalone", worker, sink)

	const dataException = "org.apache.kafka.connect.errors.DataException"
	noJSON := foreignError{Class: dataException, Code: "JsonEOFException", CauseClass: "com.fasterxml.jackson.core.io.JsonEOFException", Stage: "VALUE_CONVERTER", Message: "Converting byte[] to Kafka Connect data failed due to serialization error: "}
	d.wantDeadLetters(
		wantedDeadLetter{dlq: "connect-dlq", key: "broken", nth: 1, source: broken, dialect: "connect", error: noJSON, golden: "connect-converter"},
		wantedDeadLetter{dlq: "connect-dlq", key: "cast", nth: 1, source: cast, dialect: "connect", golden: "connect-transform", error: foreignError{
			Class: dataException, Code: "NumberFormatException", CauseClass: "java.lang.NumberFormatException", Stage: "TRANSFORMATION", Message: "Value (N/A) was out of range for requested data type",
		}},
		wantedDeadLetter{dlq: "connect-dlq", key: "refused", nth: 1, source: refused, dialect: "connect", golden: "connect-put", error: foreignError{
			Class: "java.lang.IllegalStateException", Code: "ArithmeticException", CauseClass: "java.lang.ArithmeticException", Stage: "TASK_PUT", Message: "no row for level -1",
		}},
		wantedDeadLetter{dlq: "connect-dlq", key: "silent", nth: 1, source: silent, dialect: "connect", golden: "connect-no-message", error: foreignError{
			Class: "java.lang.UnsupportedOperationException", Code: "UnsupportedOperationException", Stage: "TASK_PUT",
		}},
	)
	// After a redrive with all headers, every header occurs twice, and the last one counts.
	redriven := d.redrive("connect", d.waitForDeadLetter("connect-dlq", "broken", 1))
	d.wantDeadLetters(wantedDeadLetter{dlq: "connect-dlq", key: "broken", nth: 2, source: redriven, dialect: "connect", error: noJSON, golden: "connect-redriven"})
}

// properties writes a properties file and returns its path.
func properties(t *testing.T, settings map[string]string) string {
	t.Helper()
	var text strings.Builder
	for key, value := range settings {
		fmt.Fprintf(&text, "%s=%s\n", key, value)
	}
	file := filepath.Join(t.TempDir(), "settings.properties")
	must.Do(t, os.WriteFile(file, []byte(text.String()), 0o600))
	return file
}

func streamsDeadLetters(t *testing.T, j java) {
	d := newForeignDLQ(t, "streams", "streams-dlq", "streams-out")
	d.sendFailing("streams", "well", int32Bytes(4))
	divided := d.sendFailing("streams", "divided", int32Bytes(0))
	unread := d.sendFailing("streams", "unread", []byte("N/A"))
	silent := d.sendFailing("streams", "silent", int32Bytes(13))
	d.startLibrary(j, "foreign.StreamsLetters", strings.Join(d.set.Brokers, ","), d.prefix, t.TempDir())

	byZero := foreignError{Class: "java.lang.ArithmeticException", Code: "ArithmeticException", Message: "/ by zero"}
	d.wantDeadLetters(
		wantedDeadLetter{dlq: "streams-dlq", key: "divided", nth: 1, source: divided, dialect: "streams", error: byZero, golden: "streams-processing"},
		wantedDeadLetter{dlq: "streams-dlq", key: "unread", nth: 1, source: unread, dialect: "streams", golden: "streams-deserialization", error: foreignError{
			Class: unreadable, Code: "SerializationException", Message: notFour,
		}},
		wantedDeadLetter{dlq: "streams-dlq", key: "silent", nth: 1, source: silent, dialect: "streams", golden: "streams-no-message", error: foreignError{
			Class: "java.lang.UnsupportedOperationException", Code: "UnsupportedOperationException",
		}},
	)
	// After a redrive with all headers, every header occurs twice, and the last one counts.
	redriven := d.redrive("streams", d.waitForDeadLetter("streams-dlq", "divided", 1))
	d.wantDeadLetters(wantedDeadLetter{dlq: "streams-dlq", key: "divided", nth: 2, source: redriven, dialect: "streams", error: byZero, golden: "streams-redriven"})
}

// These are the versions of the libraries whose dead letters are read. foreign/pom.xml lists them for Maven.
const (
	springKafka  = "4.1.1"
	foreignKafka = "4.2.1" // Kafka Connect and Kafka Streams
)

// java is a class path with the compiled programs of the folder foreign.
type java struct {
	bin, classes, libs string
}

// compileForeign compiles the programs of the folder foreign against the real libraries. If the environment demands a
// real broker, it demands the libraries too.
func compileForeign(t *testing.T, w *environment) java {
	t.Helper()
	if !w.kafka.Real() {
		t.Skip("the Java libraries run against a real broker only: " + broker.EnvForce + "=kafka demands one")
	}
	pom := must.Get(os.ReadFile(filepath.Join("foreign", "pom.xml")))(t)
	for _, version := range []string{"<artifactId>spring-kafka</artifactId><version>" + springKafka + "<", "<artifactId>kafka-streams</artifactId><version>" + foreignKafka + "<"} {
		must.That(t, strings.Contains(string(pom), version), "foreign/pom.xml does not contain %s", version)
	}
	missing := t.Skipf
	if broker.Forced() {
		missing = t.Fatalf
	}
	if _, err := exec.LookPath("javac"); err != nil {
		missing("cannot run the Java libraries: %v", err)
	}
	libs, err := jars.Set{Name: "foreign-spring-kafka-" + springKafka + "-kafka-" + foreignKafka, POM: pom}.Fetch(t.Context(), broker.Forced())
	if err != nil {
		missing("cannot run the Java libraries: %v", err)
	}
	j := java{classes: t.TempDir(), libs: filepath.Join(libs, "*")}
	if j.bin, err = exec.LookPath("java"); err != nil {
		t.Fatalf("javac is installed, but java is not: %v", err)
	}
	j.compile(t)
	output := must.Get(exec.CommandContext(t.Context(), j.bin, "-version").CombinedOutput())(t)
	version, _, _ := strings.Cut(string(output), "\n")
	fmt.Printf("dead letters by: Spring Kafka %s, Kafka Connect %s, Kafka Streams %s on %s\n",
		springKafka, foreignKafka, foreignKafka, strings.ReplaceAll(version, `"`, ""))
	return j
}

// compileAll compiles the programs that match a pattern.
func (j java) compileAll(t *testing.T, pattern string) {
	t.Helper()
	sources, err := filepath.Glob(pattern)
	must.That(t, err == nil && len(sources) != 0, "no programs at %s: %v", pattern, err)
	args := append([]string{"-d", j.classes, "-cp", j.libs, "--release", "17", "-proc:none", "-parameters"}, sources...)
	out, err := exec.CommandContext(t.Context(), "javac", args...).CombinedOutput()
	must.That(t, err == nil, "javac: %v\n%s", err, out)
}

func (j java) compile(t *testing.T) {
	t.Helper()
	j.compileAll(t, filepath.Join("foreign", "*.java"))
	must.Do(t, os.CopyFS(filepath.Join(j.classes, "META-INF"), os.DirFS(filepath.Join("foreign", "META-INF"))))
}

// start starts a program that runs until the test ends.
func (j java) start(t *testing.T, class string, args ...string) *proc.Process {
	t.Helper()
	flags := []string{
		"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", j.classes + string(os.PathListSeparator) + j.libs, class,
	}
	return proc.Start(t, proc.Spec{Path: j.bin, Args: append(flags, args...), Dir: t.TempDir()})
}
