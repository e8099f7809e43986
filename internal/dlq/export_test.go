package dlq

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// From an exported line, the record can be made again: bytes, header order, repetitions, and no
// value as against an empty one.
func TestExport_ndjson_keeps_all_that_stands_in_a_record(t *testing.T) {
	for name, r := range map[string]kgo.Record{
		"text":      {Key: []byte("k"), Value: []byte(`{"a":1}`), Headers: []kgo.RecordHeader{{Key: "t", Value: []byte("2")}, {Key: "a", Value: nil}, {Key: "t", Value: []byte("1")}}},
		"bytes":     {Key: []byte{0xff}, Value: []byte{0xfe, 0}, Headers: []kgo.RecordHeader{{Key: "b", Value: []byte{0xff}}}},
		"tombstone": {Key: []byte("k")},
		"empty":     {Key: []byte{}, Value: []byte{}},
	} {
		l := deadletters.Decode(&r, true)
		var out bytes.Buffer
		must.Do(t, (&ndjsonExporter{&out}).letter(&l, nil))
		var back exported
		must.Do(t, json.Unmarshal(out.Bytes(), &back))
		expect.That(t, same(joined(back.Key, back.KeyBase64), r.Key) && same(joined(back.Value, back.ValueBase64), r.Value) && len(back.Headers) == len(r.Headers), "%s: %s", name, &out)
		for i, h := range back.Headers {
			expect.That(t, h.Key == r.Headers[i].Key && same(joined(h.Value, h.ValueBase64), r.Headers[i].Value), "%s: header %d is %+v", name, i, h)
		}
	}
}

func joined(text any, inBase64 string) []byte {
	if s, ok := text.(string); ok {
		return []byte(s)
	}
	if inBase64 == "" {
		return nil
	}
	var b []byte
	if err := json.Unmarshal([]byte(`"`+inBase64+`"`), &b); err != nil {
		panic(err)
	}
	return b
}

func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

func TestExport_csv_runs_no_formula(t *testing.T) {
	l := deadletters.Decode(&kgo.Record{Key: []byte("=HYPERLINK(1)"), Value: []byte("+1"), Headers: []kgo.RecordHeader{
		{Key: "x-original-topic", Value: []byte("t")}, {Key: "x-error-message", Value: []byte("@SUM(A1)\n\"quoted\"")},
	}}, true)
	var out bytes.Buffer
	e := newCSVExporter(&out)
	for _, step := range []func() error{e.begin, func() error { return e.letter(&l, nil) }, e.end} {
		must.Do(t, step())
	}
	rows, err := csv.NewReader(&out).ReadAll()
	must.That(t, err == nil && len(rows) == 2, "%d rows, %v", len(rows), err)
	cell := func(name string) string { return rows[1][slices.Index(rows[0], name)] }
	if cell("key") != "'=HYPERLINK(1)" || cell("value") != "'+1" || cell("message") != "'@SUM(A1)\n\"quoted\"" {
		t.Errorf("%q", rows[1])
	}
}

func TestSpansOf_cuts_where_a_gap_is_wide(t *testing.T) {
	got := spansOf([]int64{1000, 3, 1, 2, 1001 + wideGap - 1, 9000})
	want := []kafka.Span{{Start: 1, End: 4}, {Start: 1000, End: 1001 + wideGap}, {Start: 9000, End: 9001}}
	expect.That(t, slices.Equal(got, want), "got %v, want %v", got, want)
}
