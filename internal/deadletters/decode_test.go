package deadletters

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func soundControl() header.Control {
	return header.Control{
		Attempt: 1, ErrorClass: "row", ErrorCode: "geometry_invalid", ErrorStage: "gate", ErrorMessage: "ring 3 crosses itself",
		Source: header.Position{Topic: "features", Partition: 2, Offset: 9}, HasSource: true,
		ContentHash: idempotency.Of([]byte("x")).String(), DeadLetterID: "2-9-01020304", FeatureID: "P-1",
	}
}

func dlqRecord(headers []kgo.RecordHeader) *kgo.Record {
	return &kgo.Record{
		Topic: "features.dlq", Partition: 2, Offset: 17, Timestamp: at,
		Key: []byte("k"), Value: []byte("{}"), Headers: headers,
	}
}

func headerOf(key, value string) kgo.RecordHeader {
	return kgo.RecordHeader{Key: key, Value: []byte(value)}
}

func TestDecode_reads_a_letter_of_ours(t *testing.T) {
	l := Decode(dlqRecord(soundControl().AppendTo([]kgo.RecordHeader{headerOf("traceparent", "00-1")})), false)
	expect.That(t, l.ID == "2-9-01020304" && l.Dialect == Native && l.Problems == nil && l.Content == nil, "got %+v", l)
	expect.That(t, l.DLQ.String() == "features.dlq/2/17" && l.At.Equal(at) && string(l.Key) == "k" && l.Size == 2, "record: %+v", l)
	s, ok := l.Source()
	expect.That(t, ok && s.String() == "features/2/9", "source %v %v", s, ok)
	expect.That(t, l.Group == Fingerprint("geometry_invalid", "gate", "ring <n> crosses itself"), "group %s", l.Group)
	expect.That(t, l.ContentHash == soundControl().ContentHash, "hash %s", l.ContentHash)
}

// C-4: a letter that cannot be read wholly is shown with what could be read, never dropped.
func TestDecode_malformed(t *testing.T) {
	sound := soundControl().AppendTo(nil)
	replaced := func(key, value string) []kgo.RecordHeader {
		headers := slices.Clone(sound)
		for i := range headers {
			if headers[i].Key == key {
				headers[i].Value = []byte(value)
			}
		}
		return headers
	}
	for _, c := range []struct {
		name    string
		headers []kgo.RecordHeader
		id      string
		dialect Dialect
		problem string
		code    string
	}{
		{"no headers at all", nil, "dlq-2-17", Unknown, "written by other software", ""},
		{"foreign headers", []kgo.RecordHeader{headerOf("kafka_dlt-exception-message", "x")}, "dlq-2-17", Unknown, "written by other software", ""},
		{"broken source", replaced(header.KeySource, "features/two/9"), "2-9-01020304", Native, header.KeySource, "geometry_invalid"},
		{"broken attempt", replaced(header.KeyAttempt, "many"), "2-9-01020304", Native, header.KeyAttempt, "geometry_invalid"},
		{"broken hash", replaced(header.KeyContentHash, "md5:00"), "2-9-01020304", Native, header.KeyContentHash, "geometry_invalid"},
		{"a header stands twice", append(slices.Clone(sound), headerOf(header.KeyErrorCode, "other")), "2-9-01020304", Native, "stands twice", "geometry_invalid"},
		{"only a code", []kgo.RecordHeader{headerOf(header.KeyErrorCode, "timeout")}, "dlq-2-17", Native, header.KeyDeadLetterID, "timeout"},
	} {
		l := Decode(dlqRecord(c.headers), false)
		expect.That(t, l.ID == c.id && l.Dialect == c.dialect && l.Control.ErrorCode == c.code, "%s: id %s, dialect %s, code %q", c.name, l.ID, l.Dialect, l.Control.ErrorCode)
		expect.That(t, strings.Contains(strings.Join(l.Problems, "\n"), c.problem), "%s: problems %q do not speak of %q", c.name, l.Problems, c.problem)
		_, err := idempotency.Parse(l.ContentHash)
		expect.That(t, err == nil, "%s: content hash %q", c.name, l.ContentHash)
		expect.That(t, string(l.Key) == "k" && l.Size == 2 && l.Status == Pending, "%s: what could be read is gone: %+v", c.name, l)
	}
}

func TestDecode_holds_nothing_of_the_record(t *testing.T) {
	r := dlqRecord(soundControl().AppendTo(nil))
	l := Decode(r, false)
	clear(r.Key)
	for _, h := range r.Headers {
		clear(h.Value)
	}
	expect.That(t, string(l.Key) == "k" && l.Control.ErrorCode == "geometry_invalid", "the dead letter changed with the record: %+v", l)
}

func FuzzDecode(f *testing.F) {
	f.Add("switchback-source", "features/1/2", "switchback-attempt", "1", []byte("k"), []byte("v"))
	f.Add("switchback-source", "x", "switchback-source", "y", []byte(nil), []byte(nil))
	f.Add("switchback-content-hash", "sha256:", "ce_id", "\xff", []byte{}, []byte("{}"))
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 string, key, value []byte) {
		l := Decode(&kgo.Record{
			Topic: "t", Partition: 1, Offset: 2, Timestamp: time.UnixMilli(3), Key: key, Value: value,
			Headers: []kgo.RecordHeader{headerOf(k1, v1), headerOf(k2, v2)},
		}, true)
		must.That(t, l.ID != "" && l.Group != "" && l.Status == Pending, "dead letter without id, group or status: %+v", l)
		must.Get(idempotency.Parse(l.ContentHash))(t)
		must.That(t, string(l.Key) == string(key) && string(l.Content.Value) == string(value), "bytes changed")
	})
}

// Kafka Connect and Kafka Streams say nowhere but in the record's own timestamp when the failed record was produced; where
// the broker sets timestamps, nobody knows.
func TestDecode_C4_source_timestamp_of_Connect_is_that_of_the_letter(t *testing.T) {
	headers := []kgo.RecordHeader{{Key: "__connect.errors.connector.name", Value: []byte("sink")}}
	at := time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
	l := Decode(&kgo.Record{Topic: "sink-dlq", Timestamp: at, Headers: headers}, false)
	expect.That(t, l.Control.SourceTimestamp.Equal(at), "by the producer: %s, want %s", l.Control.SourceTimestamp, at)
	byBroker := kgo.Record{Topic: "sink-dlq", Timestamp: at, Headers: headers, Attrs: kgo.NewRecordAttrs(kgo.RecordAttrsOpts{TimestampType: 1})}
	l = Decode(&byBroker, false)
	expect.That(t, l.Control.SourceTimestamp.IsZero(), "by the broker: %s, want none", l.Control.SourceTimestamp)
}

func TestDecode_an_edit_names_its_original_and_is_no_death(t *testing.T) {
	control := header.Control{DeadLetterID: "a", ErrorCode: "wrong_type", HasSource: true, Source: header.Position{Topic: "f"}}
	record := func(offset int64, editOf string) *kgo.Record {
		r := &kgo.Record{Topic: "f.dlq", Offset: offset, Headers: control.AppendTo(nil)}
		if editOf != "" {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: HeaderEditOf, Value: []byte(editOf)})
		}
		return r
	}
	edit := Decode(record(1, "f.dlq/0/0"), true)
	expect.That(t, edit.Edited() && edit.EditOf == (header.Position{Topic: "f.dlq"}) && edit.Deaths == 0, "%+v", edit)
	broken := Decode(record(1, "nowhere"), true)
	expect.That(t, !broken.Edited() && len(broken.Problems) == 1, "%+v", broken.Problems)
}

// Ten thousand control headers of which one is broken cost no more than ten thousand headers do.
func TestDecode_C4_many_broken_control_headers_are_read_once_each(t *testing.T) {
	headers := []kgo.RecordHeader{{Key: header.KeyAttempt, Value: []byte("two")}, {Key: header.KeyErrorCode, Value: []byte("crs_missing")}}
	for i := range 9_000 {
		headers = append(headers, kgo.RecordHeader{Key: fmt.Sprintf("switchback-x-%d", i)}, kgo.RecordHeader{Key: header.KeyErrorCode, Value: []byte("again")})
	}
	allocations := testing.AllocsPerRun(1, func() {
		l := Decode(&kgo.Record{Headers: headers}, false)
		if l.Control.ErrorCode != "crs_missing" || len(l.Problems) != maxProblems+3 { // the last three say what is missing
			t.Errorf("%q, %d problems: %q", l.Control.ErrorCode, len(l.Problems), l.Problems)
		}
	})
	expect.That(t, allocations <= 20*float64(len(headers)), "%.0f allocations for %d headers", allocations, len(headers))
}

func TestParseState_C4_refuses_what_no_writer_makes(t *testing.T) {
	good := string(State{ID: "a", Status: Pending, At: bombAt, ReplayID: "r", By: "b"}.Record("t", 0).Value)
	for name, text := range map[string]string{
		"blanks":    good + strings.Repeat(" ", maxState),
		"replay id": strings.Replace(good, `"r"`, `"`+strings.Repeat("r", maxStateText+1)+`"`, 1),
		"by":        strings.Replace(good, `"b"`, `"`+strings.Repeat("b", maxStateText+1)+`"`, 1),
		"id":        strings.Replace(good, `"a"`, `"`+strings.Repeat("a", maxStateText+1)+`"`, 1),
		"deep":      strings.Replace(good, `"a"`, strings.Repeat("[", 30_000), 1),
	} {
		_, err := ParseState([]byte(text))
		expect.That(t, err != nil && len(err.Error()) <= 500, "%s: %.600v", name, err)
	}
	s, err := ParseState([]byte(good))
	expect.That(t, err == nil && s.ReplayID == "r", "%+v, %v", s, err)
}

func TestFilter_S4_8_refuses_endless_lists(t *testing.T) {
	err := (Filter{Features: make([]string, maxValues+1)}).Check()
	expect.That(t, err != nil, "it was accepted")
	expect.Do(t, (Filter{Features: make([]string, maxValues)}).Check())
}
