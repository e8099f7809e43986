package replay

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/testkit/bombs"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// wide is a valid feature with so many bytes of blanks in it.
func wide(id string, blanks int) string {
	return strings.Replace(fmt.Sprintf(square, id), `"properties"`, strings.Repeat(" ", blanks)+`"properties"`, 1)
}

// noise is text that can hardly be compressed.
func noise(n int) string {
	random := rand.New(rand.NewPCG(1, 2))
	return strings.Map(func(rune) rune { return 'A' + rune(random.IntN(26)) }, strings.Repeat("x", n))
}

// drop sends records to a partition in one batch of zstd, as it is.
func (w *world) drop(topic string, partition int32, records ...bombs.Record) int64 {
	w.t.Helper()
	return must.Get(bombs.Produce(w.ctx(), w.writer, topic, partition, bombs.Batch(kgo.CodecZstd, start, records...)))(w.t)
}

// elsewhere writes a record into the source topic and the pointer to it into the DLQ.
func (w *world) elsewhere(partition int32, id, value string, change func(*header.Pointer)) {
	w.t.Helper()
	w.elsewhereWith([]kgo.RecordHeader{{Key: "traceparent", Value: []byte("00-1")}}, partition, id, value, change)
}

// elsewhereWith is elsewhere for a record with the given headers.
func (w *world) elsewhereWith(own []kgo.RecordHeader, partition int32, id, value string, change func(*header.Pointer)) {
	w.t.Helper()
	key := []byte("key of " + id)
	offset := w.drop("features", partition, bombs.Record{Key: key, Value: []byte(value), Headers: own})
	at := header.Position{Topic: "features", Partition: partition, Offset: offset}
	p := header.PointTo(at, key, []byte(value), false)
	if change != nil {
		change(&p)
	}
	c := controlOf(partition, id, value)
	c.Source, c.ErrorCode, c.ErrorStage = at, "record_too_large", ""
	w.die(&kgo.Record{Topic: "features.dlq", Partition: partition, Value: []byte{}, Headers: p.Append(c.AppendTo(nil)), Timestamp: start})
}

func TestPlan_S0_5_a_pointer_goes_back_as_its_original(t *testing.T) {
	w := parallel(t)
	value := wide("a", 3<<20)
	w.elsewhere(2, "a", value, nil)
	w.dieMany(3)
	s, p := w.planned()
	for _, l := range w.letters(p) {
		expect.That(t, l.Do == plan.Reinject && l.Today.Passes && (l.ID != "a" || l.Size == len(value)), "%+v", l)
	}
	r := w.execute(s, p)
	must.That(t, r.Reinjected == 4 && r.Left == 0, "%+v", r)
	var back *kgo.Record
	for _, r := range w.read("features") {
		if id, _ := topiclog.Header(r, header.KeyDeadLetterID); id == "a" {
			back = r
		}
	}
	must.That(t, back != nil && string(back.Key) == "key of a" && string(back.Value) == value && back.Partition == 2, "%+v", back)
	for header, want := range map[string]string{"traceparent": "00-1", header.KeyReplayID: "r1", header.KeySource: "features/2/0"} {
		got, n := topiclog.Header(back, header)
		expect.That(t, got == want && n == 1, "header %s is %q (%d times), want %q", header, got, n, want)
	}
	_, n := topiclog.Header(back, header.KeyPointer)
	expect.That(t, n == 0, "the pointer went back too")
}

func TestPlan_S0_5_leaves_what_cannot_go_back_and_says_why(t *testing.T) {
	w := parallel(t)
	w.drop("features.dlq", 0, bombs.Record{Key: []byte("k"), Value: []byte(fmt.Sprintf(square, "bomb")), Blanks: 100 << 20, Headers: letter(0, "bomb", "x").Headers})
	w.elsewhere(0, "too large", wide("a", 9<<20), nil)
	w.elsewhere(1, "another", wide("b", 10), func(p *header.Pointer) { p.Value[0]++ })
	w.elsewhere(1, "other topic", wide("c", 10), func(p *header.Pointer) { p.Topic = "secrets" })
	w.elsewhere(1, "batch", wide("d", 10), func(p *header.Pointer) { *p = header.Pointer{Position: p.Position} })
	w.elsewhere(2, "gone", wide("e", 10), nil)
	w.dieWith([]kgo.RecordHeader{{Key: "own", Value: make([]byte, 33<<20)}})
	var offsets kadm.Offsets
	offsets.AddOffset("features", 2, 1, -1)
	must.Get(kadm.NewClient(w.writer).DeleteRecords(w.ctx(), offsets))(t)
	s, p := w.planned()
	want := map[string]string{
		"bomb":        "too large to index: it has 1048",
		"too large":   "its value has 9437315 bytes, and the pipeline accepts at most 8388608: raise source.max_record_bytes and make a new plan, or write the value to a file with replayer show too large --out FILE",
		"another":     "another record is at features/1/0 now: its SHA-256 differs",
		"other topic": "its record is a pointer into topic secrets, but this pipeline reads features",
		"batch":       "its value is unknown: it is at features/1/2, in a batch that could not be decompressed",
		"gone":        "the payload is gone: retention took features/2/0 (the log starts at offset 1)",
		"a":           "too large to index: its 23 headers take 34604",
		"b":           "its 1 headers take 34603056 bytes in memory, more than 33554432: a replay would lose headers of its producer",
	}
	for _, l := range w.letters(p) {
		expect.That(t, l.Do == plan.Leave && want[l.ID] != "" && strings.HasPrefix(l.Why, want[l.ID]), "%s: %s %q, want %q", l.ID, l.Do, l.Why, want[l.ID])
		delete(want, l.ID)
	}
	expect.That(t, len(want) == 0, "not in the plan: %v", want)
	// A plan that says otherwise is no help.
	forged := w.altered(p, func(l *plan.Line) { l.Do, l.Why = plan.Reinject, "" })
	r := w.execute(s, forged)
	expect.That(t, r.Left == 8 && r.Reinjected == 0, "%+v", r)
	changed, err := s.Change(w.ctx(), deadletters.Filter{}, Discard, ana("cannot be saved"), nil)
	expect.That(t, err == nil && changed.Changed == 8, "%+v, %v", changed, err)
	pruned, err := s.Prune(w.ctx(), start, ana("gone"))
	expect.That(t, err == nil && pruned.Letters == 0, "%+v, %v", pruned, err)
}

// A dead letter goes back with every header of its producer, also when its original lies in the source topic.
func TestExecute_S0_5_putsBackEveryHeader(t *testing.T) {
	t.Parallel()
	for _, headers := range []int{60_000, 9_000, 300_000} {
		t.Run(fmt.Sprint(headers), func(t *testing.T) {
			t.Parallel()
			if headers != 60_000 {
				testrun.Nightly(t)
			}
			own := make([]kgo.RecordHeader, headers)
			for i := range own {
				own[i] = kgo.RecordHeader{Key: "own" + strconv.Itoa(i), Value: []byte("of 20 bytes: " + strconv.Itoa(1_000_000+i))}
			}
			w := newWorld(t)
			w.dieWith(own)
			s := w.service()
			if r := w.execute(s, w.plan(s, deadletters.Filter{})); r.Reinjected != 2 {
				t.Fatalf("%+v", r)
			}
			back := 0
			for _, r := range w.read("features") {
				if _, n := topiclog.Header(r, header.KeyReplayID); n == 0 {
					continue
				}
				back++
				producers := header.ProducerHeaders(r.Headers)
				expect.That(t, len(producers) >= headers && reflect.DeepEqual(producers[:headers], own), "%s went back with %d headers, of its own it had %d", r.Key, len(producers), headers)
			}
			expect.That(t, back == 2, "%d went back", back)
		})
	}
}

// dieWith writes two dead letters of records with the given headers: one in the DLQ, one whose original lies in the source topic.
func (w *world) dieWith(own []kgo.RecordHeader) {
	w.t.Helper()
	dead := letter(1, "a", fmt.Sprintf(square, "a"))
	w.drop("features.dlq", 1, bombs.Record{Key: dead.Key, Value: dead.Value, Headers: append(slices.Clone(own), dead.Headers...)})
	w.elsewhereWith(own, 2, "b", fmt.Sprintf(square, "b"), nil)
}

func TestEdit_S0_5_of_a_pointer_starts_from_its_original(t *testing.T) {
	w := parallel(t)
	w.elsewhere(2, "a", wide("a", 2<<20), nil)
	w.drop("features.dlq", 0, bombs.Record{Value: []byte(`{}`), Blanks: 20 << 20, Headers: letter(0, "bomb", "x").Headers})
	r := w.edit(deadletters.Filter{}, EditOptions{Rewrite: set(t, "properties.name=b")})
	must.That(t, r.Changed == 1 && len(r.Skipped) == 1 && r.Skipped[0].ID == "bomb" && strings.HasPrefix(r.Skipped[0].Why, "too large to index"), "%+v", r)
	var edited deadletters.Letter
	for _, r := range w.read("features.dlq") {
		if l := deadletters.Decode(r, true); l.ID == "a" {
			edited = l
		}
	}
	expect.That(t, edited.Edited() && edited.Pointer == nil && string(edited.Key) == "key of a" && strings.Contains(string(edited.Content.Value), `"name":"b"`), "%+v", edited)
	s := w.service()
	expect.Equal(t, w.execute(s, w.plan(s, deadletters.Filter{})).Reinjected, 1, "reinjected")
}
