package dialects

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// golden is a file of testdata: the headers of a dead letter as the library itself wrote them, and which record died.
// TestForeign in the folder integration makes these files (-foreign.update) and holds the replayer to the same letters.
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

// What each library really wrote is read as a person would who knows which record died and why. Topic, partition, offset
// and time are those that the producer of that record was told.
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
		"spring":                  {Dialect: Spring, ErrorClass: wrapper, CauseClass: "java.lang.IllegalStateException", ErrorMessage: "Listener failed; ring 7 is not closed", Attempts: 3},
		"spring-again":            {Dialect: Spring, ErrorClass: wrapper, CauseClass: "java.lang.IllegalArgumentException", ErrorMessage: "Listener failed; no desk takes this letter"},
		"spring-redriven":         {Dialect: Spring, ErrorClass: wrapper, CauseClass: "java.lang.IllegalStateException", ErrorMessage: "Listener failed; ring 7 is not closed", Attempts: 3},
		"spring-value":            {Dialect: Spring, ErrorClass: unreadable, CauseClass: unreadable, ErrorMessage: "failed to deserialize"},
		"spring-key":              {Dialect: Spring, ErrorClass: unreadable, CauseClass: unreadable, ErrorMessage: "failed to deserialize", Stage: "key"},
		"spring-both":             {Dialect: Spring, ErrorClass: unreadable, CauseClass: unreadable, ErrorMessage: "failed to deserialize"},
		"spring-retry-waiting":    {Dialect: SpringRetry, ErrorClass: wrapper, CauseClass: "java.lang.IllegalStateException", ErrorMessage: "Listener failed; the registry is closed", Attempts: 1},
		"spring-retry":            {Dialect: SpringRetry, ErrorClass: wrapper, CauseClass: "java.lang.IllegalStateException", ErrorMessage: "Listener failed; the registry is closed", Attempts: 3},
		"spring-retry-redriven":   {Dialect: SpringRetry, ErrorClass: wrapper, CauseClass: "java.lang.IllegalStateException", ErrorMessage: "Listener failed; the registry is closed", Attempts: 4},
		"connect-converter":       {Dialect: Connect, ErrorClass: data, CauseClass: "com.fasterxml.jackson.core.io.JsonEOFException", Stage: "VALUE_CONVERTER", ErrorMessage: "Converting byte[] to Kafka Connect data failed due to serialization error: "},
		"connect-transform":       {Dialect: Connect, ErrorClass: data, CauseClass: "java.lang.NumberFormatException", Stage: "TRANSFORMATION", ErrorMessage: "Value (N/A) was out of range for requested data type"},
		"connect-put":             {Dialect: Connect, ErrorClass: "java.lang.IllegalStateException", CauseClass: "java.lang.ArithmeticException", Stage: "TASK_PUT", ErrorMessage: "no row for level -1"},
		"connect-no-message":      {Dialect: Connect, ErrorClass: unsupported, Stage: "TASK_PUT"},
		"connect-redriven":        {Dialect: Connect, ErrorClass: data, CauseClass: "com.fasterxml.jackson.core.io.JsonEOFException", Stage: "VALUE_CONVERTER", ErrorMessage: "Converting byte[] to Kafka Connect data failed due to serialization error: "},
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

// checkRetry looks at the times of a retry topic, which differ with each run: the first is that of the record, and the
// next try came later.
func checkRetry(t *testing.T, want, got *Letter) {
	t.Helper()
	if want.Dialect != SpringRetry {
		return
	}
	want.FirstAt = want.Timestamp
	expect.That(t, !got.Due.Before(want.FirstAt) && !got.Due.After(time.Now()), "due at %s", got.Due)
	want.Due = got.Due
}

// checkGroup looks at who failed, which has the name that the run gave to its topics: a prefix, a point and a word.
func checkGroup(t *testing.T, want, got *Letter) {
	t.Helper()
	prefix, _, _ := strings.Cut(want.Topic, ".")
	if got.Dialect == Streams {
		return // it writes no group
	}
	expect.That(t, strings.HasPrefix(got.Group, prefix), "group %q", got.Group)
	want.Group = got.Group
}
