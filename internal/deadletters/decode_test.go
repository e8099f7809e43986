package deadletters

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/testkit/bombs"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
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

// C-4: a dead letter that cannot be read completely is shown with the readable parts, never dropped.
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
		{"no headers at all", nil, "dlq-2-17", Unknown, "other software wrote", ""},
		{"foreign headers", []kgo.RecordHeader{headerOf("kafka_dlt-exception-message", "x")}, "dlq-2-17", Unknown, "other software wrote", ""},
		{"broken source", replaced(header.KeySource, "features/two/9"), "2-9-01020304", Native, header.KeySource, "geometry_invalid"},
		{"broken attempt", replaced(header.KeyAttempt, "many"), "2-9-01020304", Native, header.KeyAttempt, "geometry_invalid"},
		{"broken hash", replaced(header.KeyContentHash, "md5:00"), "2-9-01020304", Native, header.KeyContentHash, "geometry_invalid"},
		{"a header occurs twice", append(slices.Clone(sound), headerOf(header.KeyErrorCode, "other")), "2-9-01020304", Native, "occurs twice", "geometry_invalid"},
		{"only a code", []kgo.RecordHeader{headerOf(header.KeyErrorCode, "timeout")}, "dlq-2-17", Native, header.KeyDeadLetterID, "timeout"},
	} {
		l := Decode(dlqRecord(c.headers), false)
		expect.That(t, l.ID == c.id && l.Dialect == c.dialect && l.Control.ErrorCode == c.code, "%s: id %s, dialect %s, code %q", c.name, l.ID, l.Dialect, l.Control.ErrorCode)
		expect.That(t, strings.Contains(strings.Join(l.Problems, "\n"), c.problem), "%s: problems %q do not speak of %q", c.name, l.Problems, c.problem)
		_, err := idempotency.Parse(l.ContentHash)
		expect.That(t, err == nil, "%s: content hash %q", c.name, l.ContentHash)
		expect.That(t, string(l.Key) == "k" && l.Size == 2 && l.Status == Pending, "%s: the readable parts are lost: %+v", c.name, l)
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

// Kafka Connect and Kafka Streams state only in the record's own timestamp when the failed record was produced; where
// the broker sets timestamps, that time is unknown.
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
		if l.Control.ErrorCode != "crs_missing" || len(l.Problems) != maxProblems+3 { // the last three describe what is missing
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

var bombAt = time.UnixMilli(1_790_000_000_000).UTC()

// bomb is a dead letter of 200 MiB that zstd compresses to some KiB.
func bomb(id string) bombs.Record {
	c := header.Control{
		DeadLetterID: id, ErrorCode: "record_too_large", ErrorStage: "gate", ErrorMessage: "the record is larger than the limit",
		Source: header.Position{Topic: "t", Partition: 0, Offset: 7}, HasSource: true, FeatureID: "P-1",
	}
	return bombs.Record{Key: []byte("k"), Value: []byte(`{"type":"Feature"`), Blanks: 200 << 20, Headers: c.AppendTo([]kgo.RecordHeader{{Key: "own", Value: []byte("1")}})}
}

// cluster starts a broker with topics "t" (3 partitions), "dlq" and "status" (2 each).
func cluster(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	return fakekafka.Start(t, append([]kfake.Opt{kfake.NumBrokers(2), kfake.SeedTopics(3, "t"), kfake.SeedTopics(2, "dlq", "status")}, opts...)...)
}

func client(t *testing.T, c *kfake.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	return fakekafka.Client(t, c, append([]kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
}

func drop(t *testing.T, cl *kgo.Client, topic string, batch *kmsg.RecordBatch) int64 {
	t.Helper()
	return must.Get(bombs.Produce(t.Context(), cl, topic, 0, batch))(t)
}

func lettersOf(t *testing.T, cl *kgo.Client, r Reading) []Letter {
	t.Helper()
	spans := must.Get(kafka.Spans(t.Context(), cl, "dlq"))(t)
	var out []Letter
	must.Do(t, r.Letters(t.Context(), cl, "dlq", spans, func(l *Letter) error {
		out = append(out, *l)
		return nil
	}))
	return out
}

func TestLetters_S0_5_one_that_is_too_large_comes_without_its_value(t *testing.T) {
	c := cluster(t)
	cl := client(t, c)
	drop(t, cl, "dlq", bombs.Batch(kgo.CodecZstd, bombAt, bombs.Record{Value: []byte("before")}, bomb("0-7-aaaaaaaa"), bombs.Record{Value: []byte("behind")}))
	letters := lettersOf(t, cl, Reading{})
	must.That(t, len(letters) == 3 && string(letters[0].Content.Value) == "before" && string(letters[2].Content.Value) == "behind", "%d dead letters", len(letters))
	l := letters[1]
	expect.That(t, l.ID == "0-7-aaaaaaaa" && l.Size == 200<<20+17 && l.Control.FeatureID == "P-1" && string(l.Key) == "k" && l.At.Equal(bombAt) && l.DLQ.Offset == 1 && l.Last == 1 && l.Content.Value == nil && strings.HasPrefix(string(l.Content.Head), `{"type":"Feature" `) && !l.HoldsValue() && len(l.Content.Headers) == 7,
		"%+v", l)
	want := "too large to index: it has 209715"
	expect.That(t, strings.HasPrefix(l.TooLarge, want) && strings.HasSuffix(l.TooLarge, "replayer show 0-7-aaaaaaaa --out FILE writes its value") && len(l.Problems) == 1 && l.Problems[0] == l.TooLarge,
		"%q, %q", l.TooLarge, l.Problems)
	head := string(l.Searched())
	expect.That(t, strings.Contains(head, `"Feature"`) && !strings.Contains(head, "behind"), "a text is not looked for in the head")
	all := lettersOf(t, cl, Reading{MaxValue: 256 << 20})
	expect.That(t, all[1].TooLarge == "" && len(all[1].Content.Value) == 200<<20+17, "with a larger limit: %s", all[1].TooLarge)
	spans := must.Get(kafka.Spans(t.Context(), cl, "dlq"))(t)
	err := kafka.Scan(t.Context(), cl, "dlq", spans, func(*kgo.Record) error { return nil })
	expect.That(t, err != nil && strings.Contains(err.Error(), "dlq/0/1 is too large: it has 209715"), "a scan of small records: %v", err)
}

func TestLetters_S0_5_what_cannot_be_read_is_named(t *testing.T) {
	cl := client(t, cluster(t))
	broken := bombs.Batch(kgo.CodecNone, bombAt, bomb("a"), bomb("b"), bomb("c"))
	broken.Attributes, broken.Records = int16(kgo.CodecZstd), []byte("(\xb5\x2f\xfd no zstd")
	drop(t, cl, "dlq", bombs.Batch(kgo.CodecNone, bombAt, bombs.Record{Value: []byte("before")}))
	drop(t, cl, "dlq", broken)
	drop(t, cl, "dlq", bombs.Batch(kgo.CodecNone, bombAt, bombs.Record{Value: []byte("behind")}))
	letters := lettersOf(t, cl, Reading{})
	must.That(t, len(letters) == 3 && letters[2].DLQ.Offset == 4, "%d dead letters", len(letters))
	l := letters[1]
	expect.That(t, l.ID == "dlq-0-1" && l.Last == 3 && l.Dialect == Unknown && strings.HasPrefix(l.TooLarge, "too large to index: dlq/0 offsets 1 to 3 (") && len(l.Problems) == 1, "%+v", l)
}

func TestScanStates_C4_a_state_that_is_too_large_cannot_be_read(t *testing.T) {
	cl := client(t, cluster(t))
	states := func() (out []StateRecord, err error) {
		spans := must.Get(kafka.Spans(t.Context(), cl, "status"))(t)
		err = ScanStates(t.Context(), kafka.Cluster{Client: cl}, "status", spans, func(r *StateRecord) error {
			out = append(out, *r)
			return nil
		})
		return out, err
	}
	good := State{ID: "a", Status: Replaying, At: bombAt}.Record("status", 0)
	blown := bombs.Record{Key: []byte("b"), Value: good.Value, Blanks: 100 << 20}
	drop(t, cl, "status", bombs.Batch(kgo.CodecZstd, bombAt, bombs.Record{Key: good.Key, Value: good.Value}, blown, bombs.Record{Key: []byte("c")},
		bombs.Record{Key: []byte("audit-chain/1"), Value: []byte("{}")}, bombs.Record{Key: []byte("d"), Value: good.Value}))
	got, err := states()
	must.That(t, err == nil && len(got) == 5, "%+v, %v", got, err)
	expect.That(t, got[0].Err == nil && got[0].State.Status == Replaying && got[1].ID == "b" && got[1].Err != nil && strings.Contains(got[1].Err.Error(), "status/0/1: too large") && got[2].Removed && string(got[3].ChainHead) == "{}" && got[4].Err != nil,
		"%+v", got)
	nobody := bombs.Batch(kgo.CodecNone, bombAt, blown)
	nobody.Attributes, nobody.Records = int16(kgo.CodecZstd), []byte("no zstd")
	drop(t, cl, "status", nobody)
	_, err = states()
	expect.That(t, err != nil && strings.Contains(err.Error(), "status/0 offsets 5 to 5"), "the dead letter of this state is unknown: %v", err)
}

// pointTo is a dead letter as the consumer writes it for a record that fits into no topic.
func pointTo(p header.Pointer, key []byte) *kgo.Record {
	c := header.Control{
		DeadLetterID: "0-1-aaaaaaaa", ErrorCode: "record_too_large", Source: p.Position, HasSource: true,
	}
	headers := append(c.AppendTo([]kgo.RecordHeader{{Key: "own", Value: []byte("copy")}}), p.Append(nil)...)
	return &kgo.Record{Topic: "dlq", Key: key, Value: []byte{}, Headers: headers, Timestamp: bombAt}
}

func TestPointer_S0_5_a_letter_knows_where_its_original_lies(t *testing.T) {
	at := header.Position{Topic: "t", Partition: 0, Offset: 1}
	p := header.PointTo(at, []byte("key"), []byte("value of it"), true)
	r := pointTo(p, []byte("key"))
	l := Decode(r, true)
	expect.That(t, l.Pointer != nil && l.Size == 11 && len(l.Problems) == 0 && !l.HoldsValue() && string(l.Searched()) == "value of it" && l.TooLarge == "", "%+v", l)
	other := Decode(pointTo(header.PointTo(at, []byte("key"), []byte("another"), true), []byte("key")), true)
	expect.That(t, l.ContentHash != other.ContentHash && l.ContentHash == Decode(r, false).ContentHash, "the content hash does not distinguish originals")
	keyless := Decode(pointTo(header.PointTo(at, []byte("key"), []byte("v"), false), nil), true)
	expect.That(t, keyless.Keyed() && keyless.KeyHash() == l.KeyHash() && !(&Letter{}).Keyed(), "a key that did not fit is not identified by its hash")
	batch := Decode(pointTo(header.Pointer{Position: at}, nil), true)
	expect.That(t, batch.Pointer != nil && !batch.HoldsValue() && len(batch.Problems) == 1 && strings.Contains(batch.Problems[0], "its original is at t/0/1, in a batch that could not be decompressed"), "%+v", batch)
	r.Headers[len(r.Headers)-1].Value = []byte("{")
	bad := Decode(r, true)
	expect.That(t, bad.Pointer == nil && len(bad.Problems) == 1 && strings.Contains(bad.Problems[0], header.KeyPointer), "%+v", bad.Problems)
}

func TestFetchOriginal_S0_5_reads_the_record_while_it_is_there(t *testing.T) {
	c := cluster(t)
	cl := client(t, c)
	value := `{"type":"Feature"` + strings.Repeat(" ", 1<<20) + `}`
	drop(t, cl, "t", bombs.Batch(kgo.CodecZstd, bombAt, bombs.Record{Value: []byte("0")},
		bombs.Record{Key: []byte("key"), Value: []byte(value), Headers: []kgo.RecordHeader{{Key: "own", Value: []byte("1")}, {Key: "switchback-attempt", Value: []byte("2")}}},
		bombs.Record{Key: []byte("key")}))
	at := header.Position{Topic: "t", Partition: 0, Offset: 1}
	fetch := func(p header.Pointer, most int) (Letter, string) {
		l := Decode(pointTo(p, nil), true)
		why := must.Get(FetchOriginal(t.Context(), cl, &l, most))(t)
		return l, why
	}
	l, why := fetch(header.PointTo(at, []byte("key"), []byte(value), false), 0)
	expect.That(t, why == "" && string(l.Content.Value) == value && string(l.Key) == "key" && l.Size == len(value) && l.HoldsValue(), "%q, %d bytes, key %q", why, len(l.Content.Value), l.Key)
	var names []string
	for _, h := range l.Content.Headers {
		names = append(names, h.Key+"="+string(h.Value[:min(len(h.Value), 2)]))
	}
	got := strings.Join(names, " ")
	expect.That(t, strings.HasPrefix(got, "own=1 switchback-error-code=re ") && !strings.Contains(got, "own=co") && !strings.Contains(got, "attempt"), "%s", got)
	l, why = fetch(header.PointTo(at, nil, []byte(value), true), 1000)
	expect.That(t, strings.Contains(why, "1048594 bytes, more than the 1000") && !l.HoldsValue(), "%v", why)
	_, why = fetch(header.PointTo(at, nil, []byte("another"), true), 0)
	expect.That(t, strings.Contains(why, "SHA-256 differs") || strings.Contains(why, "more than"), "%v", why)
	_, why = fetch(header.Pointer{Position: at}, 0)
	expect.That(t, strings.Contains(why, "could not be decompressed"), "%v", why)
	gone := at
	gone.Offset = 5
	_, why = fetch(header.PointTo(gone, nil, []byte("x"), true), 0)
	expect.That(t, why == "the payload is gone: there is no t/0/5 (the log ends at offset 3)", "%v", why)
	gone.Topic = "no-such-topic"
	_, why = fetch(header.PointTo(gone, nil, []byte("x"), true), 0)
	expect.That(t, why == "the payload is gone: topic no-such-topic does not exist", "%v", why)
	var offsets kadm.Offsets
	offsets.AddOffset("t", 0, 2, -1)
	must.Get(kadm.NewClient(cl).DeleteRecords(t.Context(), offsets))(t)
	_, why = fetch(header.PointTo(at, nil, []byte(value), true), 0)
	expect.That(t, why == "the payload is gone: retention took t/0/1 (the log starts at offset 2)", "%v", why)
}
