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

// C-4, S4-8: dead letters that the real libraries wrote are told by their headers and read right, down to which of doubled
// headers counts; when Spring fails again on one that was put back, the loop closes. The programs are in the folder foreign.
func TestForeign_C4_letters_of_the_real_libraries(t *testing.T) {
	beside(t, testrun.Nightly)
	j := theJava(t, theWorld(t))
	t.Run("spring", func(t *testing.T) { t.Parallel(); springLetters(t, j) })
	t.Run("spring_beside_a_pipeline", func(t *testing.T) { t.Parallel(); springBesideAPipeline(t, j) })
	t.Run("connect", func(t *testing.T) { t.Parallel(); connectLetters(t, j) })
	t.Run("streams", func(t *testing.T) { t.Parallel(); streamsLetters(t, j) })
}

func four(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

const (
	springWrapper = "org.springframework.kafka.listener.ListenerExecutionFailedException"
	springUnread  = "org.springframework.kafka.support.serializer.DeserializationException"
	unreadable    = "org.apache.kafka.common.errors.SerializationException"
	notFour       = "Size of data received by IntegerDeserializer is not 4"
)

func springLetters(t *testing.T, j java) {
	d := newForeignDesk(t, "spring", "spring-dlt", "spring-again", "numbers", "numbers-dlt", "retried", "retried-retry", "retried-dlt")
	d.fail("spring", "first", []byte("{}"))
	plain := d.fail("spring", "f-1", []byte(`{"type":"Feature"}`))
	value, key, both := d.fail("numbers", string(four(7)), []byte("N/A!!")), d.fail("numbers", "no-number", four(8)), d.fail("numbers", "no-number-either", []byte("N/A"))
	d.fail("retried", "first", []byte("{}"))
	retried := d.fail("retried", "f-2", []byte{0xff, 0x00})
	d.begin(j, "foreign.SpringLetters", strings.Join(d.set.Brokers, ","), d.prefix)

	once := foreignError{Class: springWrapper, Code: "IllegalStateException", CauseClass: "java.lang.IllegalStateException", Message: "Listener failed; ring 7 is not closed"}
	twice := foreignError{Class: springWrapper, Code: "IllegalArgumentException", CauseClass: "java.lang.IllegalArgumentException", Message: "Listener failed; no desk takes this letter"}
	unread := foreignError{Class: springUnread, Code: "DeserializationException", CauseClass: springUnread, Message: "failed to deserialize"}
	unreadKey := unread
	unreadKey.Stage = "key"
	closed := foreignError{Class: springWrapper, Code: "IllegalStateException", CauseClass: "java.lang.IllegalStateException", Message: "Listener failed; the registry is closed"}
	d.wants(
		death{dlq: "spring-dlt", key: "f-1", nth: 1, of: plain, dialect: "spring", error: once, attempts: 3, golden: "spring"},
		death{dlq: "spring-again", key: "f-1", nth: 1, of: plain, dialect: "spring", error: twice, golden: "spring-again"},
		death{dlq: "numbers-dlt", key: string(value.Key), nth: 1, of: value, dialect: "spring", error: unread, golden: "spring-value"},
		death{dlq: "numbers-dlt", key: string(key.Key), nth: 1, of: key, dialect: "spring", error: unreadKey, golden: "spring-key"},
		death{dlq: "numbers-dlt", key: string(both.Key), nth: 1, of: both, dialect: "spring", error: unread, golden: "spring-both"},
		death{dlq: "retried-retry", key: "f-2", nth: 1, of: retried, dialect: "spring-retry", error: closed, attempts: 1, golden: "spring-retry-waiting"},
		death{dlq: "retried-retry", key: "f-2", nth: 2, of: retried, dialect: "spring-retry", error: closed, attempts: 2},
		death{dlq: "retried-dlt", key: "f-2", nth: 1, of: retried, dialect: "spring-retry", error: closed, attempts: 3, golden: "spring-retry"},
	)
	// Put back with all headers, a letter dies again: its origin is still the first one.
	d.again("spring", d.written("spring-dlt", "f-1", 1))
	d.again("retried", d.written("retried-dlt", "f-2", 1))
	d.wants(
		death{dlq: "spring-dlt", key: "f-1", nth: 2, of: plain, dialect: "spring", error: once, attempts: 3, golden: "spring-redriven"},
		death{dlq: "retried-dlt", key: "f-2", nth: 2, of: retried, dialect: "spring-retry", error: closed, attempts: 4, golden: "spring-retry-redriven"},
	)
}

// A letter of Spring's in the pipeline's own DLQ goes back into the source as its producer sent it, with our headers. When
// Spring fails on it again, the letter is Spring's again, and the same one.
func springBesideAPipeline(t *testing.T, j java) {
	d := newForeignDesk(t, "spring", "spring-dlt", "numbers", "retried")
	sent := d.send("f-3")[0]
	d.begin(j, "foreign.SpringLetters", strings.Join(d.set.Brokers, ","), d.prefix)
	first := death{
		dlq: "dlq", key: "f-3", nth: 1, of: sent, dialect: "spring",
		error: foreignError{Class: springWrapper, Code: "IllegalStateException", CauseClass: "java.lang.IllegalStateException", Message: "Listener failed; no room for this feature"},
	}
	d.wants(first)
	code, out := d.replay("--execute")
	must.That(t, code == 0, "exit code %d\n%s", code, out)
	back := d.read(d.topics.Source)[1]
	theirs := slices.DeleteFunc(slices.Clone(back.Headers), func(h kgo.RecordHeader) bool { return strings.HasPrefix(h.Key, "switchback-") })
	expect.That(t, string(back.Value) == string(sent.Value) && back.Partition == sent.Partition && slices.EqualFunc(theirs, sent.Headers, sameHeader), "put back:\n%s\nsent:\n%s", topiclog.Describe(back), topiclog.Describe(sent))
	was, again := d.written("dlq", "f-3", 1), d.written("dlq", "f-3", 2)
	letter := d.letters("dlq")[foreignPlace{again.Topic, again.Partition, again.Offset}]
	source := foreignPlace{back.Topic, back.Partition, back.Offset}
	id := fmt.Sprintf("dlq-%d-%d", was.Partition, was.Offset)
	expect.That(t, letter.Dialect == "spring" && letter.ID == id && letter.Source == source && letter.Error == first.error, "dead again: %+v, want %s, which is Spring's and died at %v", letter, id, source)
	d.closesTheLoop(letter.ID, again)
}

// closesTheLoop holds the replayer to what Spring's dead letters say of its replays: the letter is pending when Spring has
// failed on it again, and escalated after the third time. Reading writes nothing.
func (d *foreignDesk) closesTheLoop(id string, again *kgo.Record) {
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
			got := d.letters("dlq")[foreignPlace{again.Topic, again.Partition, again.Offset}]
			expect.That(d.t, got.ID == id && got.Status == want, "after replay %d: %+v, want it %s", replay, got, want)
		}
		r := d.run("replayer", "index", "-c", d.file, "--check")
		expect.That(d.t, r.Code == 0, "the index: %s", r)
		code, out := d.replay("--execute")
		if replay == 3 {
			expect.That(d.t, code == exitNothing, "a replay takes an escalated letter: exit code %d\n%s", code, out)
			break
		}
		must.That(d.t, code == 0, "exit code %d\n%s", code, out)
		again = d.written("dlq", "f-3", replay+2)
	}
	states, _ := d.states()
	expect.That(d.t, states[id].Status == "replaying" && states[id].ReprocessCount == 2, "the last word of the status topic is the third replay, not what was read since: %+v", states[id])
}

func sameHeader(a, b kgo.RecordHeader) bool {
	return a.Key == b.Key && string(a.Value) == string(b.Value)
}

func connectLetters(t *testing.T, j java) {
	d := newForeignDesk(t, "connect", "connect-dlq")
	d.fail("connect", "well", []byte(`{"level":3}`))
	broken := d.fail("connect", "broken", []byte(`{"level":`))
	cast := d.fail("connect", "cast", []byte(`{"level":"N/A"}`))
	refused := d.fail("connect", "refused", []byte(`{"level":-1}`))
	silent := d.fail("connect", "silent", []byte(`{"level":13}`))
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
	d.begin(j, "org.apache.kafka.connect.cli.ConnectStandalone", worker, sink)

	const dataException = "org.apache.kafka.connect.errors.DataException"
	noJSON := foreignError{Class: dataException, Code: "JsonEOFException", CauseClass: "com.fasterxml.jackson.core.io.JsonEOFException", Stage: "VALUE_CONVERTER", Message: "Converting byte[] to Kafka Connect data failed due to serialization error: "}
	d.wants(
		death{dlq: "connect-dlq", key: "broken", nth: 1, of: broken, dialect: "connect", error: noJSON, golden: "connect-converter"},
		death{dlq: "connect-dlq", key: "cast", nth: 1, of: cast, dialect: "connect", golden: "connect-transform", error: foreignError{
			Class: dataException, Code: "NumberFormatException", CauseClass: "java.lang.NumberFormatException", Stage: "TRANSFORMATION", Message: "Value (N/A) was out of range for requested data type",
		}},
		death{dlq: "connect-dlq", key: "refused", nth: 1, of: refused, dialect: "connect", golden: "connect-put", error: foreignError{
			Class: "java.lang.IllegalStateException", Code: "ArithmeticException", CauseClass: "java.lang.ArithmeticException", Stage: "TASK_PUT", Message: "no row for level -1",
		}},
		death{dlq: "connect-dlq", key: "silent", nth: 1, of: silent, dialect: "connect", golden: "connect-no-message", error: foreignError{
			Class: "java.lang.UnsupportedOperationException", Code: "UnsupportedOperationException", Stage: "TASK_PUT",
		}},
	)
	// Put back with all headers, every one of them is doubled: the last counts.
	redriven := d.again("connect", d.written("connect-dlq", "broken", 1))
	d.wants(death{dlq: "connect-dlq", key: "broken", nth: 2, of: redriven, dialect: "connect", error: noJSON, golden: "connect-redriven"})
}

// properties writes a properties file and gives its path.
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

func streamsLetters(t *testing.T, j java) {
	d := newForeignDesk(t, "streams", "streams-dlq", "streams-out")
	d.fail("streams", "well", four(4))
	divided := d.fail("streams", "divided", four(0))
	unread := d.fail("streams", "unread", []byte("N/A"))
	silent := d.fail("streams", "silent", four(13))
	d.begin(j, "foreign.StreamsLetters", strings.Join(d.set.Brokers, ","), d.prefix, t.TempDir())

	byZero := foreignError{Class: "java.lang.ArithmeticException", Code: "ArithmeticException", Message: "/ by zero"}
	d.wants(
		death{dlq: "streams-dlq", key: "divided", nth: 1, of: divided, dialect: "streams", error: byZero, golden: "streams-processing"},
		death{dlq: "streams-dlq", key: "unread", nth: 1, of: unread, dialect: "streams", golden: "streams-deserialization", error: foreignError{
			Class: unreadable, Code: "SerializationException", Message: notFour,
		}},
		death{dlq: "streams-dlq", key: "silent", nth: 1, of: silent, dialect: "streams", golden: "streams-no-message", error: foreignError{
			Class: "java.lang.UnsupportedOperationException", Code: "UnsupportedOperationException",
		}},
	)
	// Put back with all headers, every one of them is doubled: the last counts.
	redriven := d.again("streams", d.written("streams-dlq", "divided", 1))
	d.wants(death{dlq: "streams-dlq", key: "divided", nth: 2, of: redriven, dialect: "streams", error: byZero, golden: "streams-redriven"})
}

// The libraries whose dead letters are read. foreign/pom.xml lists them for Maven.
const (
	springKafka  = "4.1.1"
	foreignKafka = "4.2.1" // Kafka Connect and Kafka Streams
)

// java is a class path with the programs of the folder foreign, compiled.
type java struct {
	bin, classes, libs string
}

// theJava compiles the programs of the folder foreign against the real libraries. Where a real
// broker is demanded, so are they.
func theJava(t *testing.T, w *world) java {
	t.Helper()
	if !w.kafka.Real() {
		t.Skip("Java's libraries are tried against a real broker only: " + broker.EnvForce + "=kafka demands one")
	}
	pom := must.Get(os.ReadFile(filepath.Join("foreign", "pom.xml")))(t)
	for _, version := range []string{"<artifactId>spring-kafka</artifactId><version>" + springKafka + "<", "<artifactId>kafka-streams</artifactId><version>" + foreignKafka + "<"} {
		must.That(t, strings.Contains(string(pom), version), "foreign/pom.xml does not hold %s", version)
	}
	missing := t.Skipf
	if broker.Forced() {
		missing = t.Fatalf
	}
	if _, err := exec.LookPath("javac"); err != nil {
		missing("the dead letters of Java's libraries cannot be made: %v", err)
	}
	libs, err := jars.Set{Name: "foreign-spring-kafka-" + springKafka + "-kafka-" + foreignKafka, POM: pom}.Fetch(t.Context(), broker.Forced())
	if err != nil {
		missing("the dead letters of Java's libraries cannot be made: %v", err)
	}
	j := java{classes: t.TempDir(), libs: filepath.Join(libs, "*")}
	if j.bin, err = exec.LookPath("java"); err != nil {
		t.Fatalf("javac is there and java is not: %v", err)
	}
	j.compile(t)
	said := must.Get(exec.CommandContext(t.Context(), j.bin, "-version").CombinedOutput())(t)
	version, _, _ := strings.Cut(string(said), "\n")
	fmt.Printf("dead letters by: Spring Kafka %s, Kafka Connect %s, Kafka Streams %s on %s\n",
		springKafka, foreignKafka, foreignKafka, strings.ReplaceAll(version, `"`, ""))
	return j
}

// compileAll compiles the programs that a pattern matches.
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
