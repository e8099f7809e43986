package index

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// A mark has the number of a status; another order would be another version of the tables.
func TestMark_S4_6_statuses_keep_their_numbers(t *testing.T) {
	t.Parallel()
	want := []deadletters.Status{unreadable, "pending", "replaying", "escalated", "reprocessed", "discarded", "duplicate", "superseded"}
	if got := markStatuses(); !slices.Equal(got, want) || len(got) >= maxStatuses {
		t.Errorf("marks have %v, want %v: raise schemaVersion", got, want)
	}
	for _, s := range want {
		m := markOf(s, true, false)
		if m.empty() || !m.gone() || m.replayed() || markStatuses()[m[0]-1] != s {
			t.Errorf("%s is %v", s, m)
		}
	}
}

// What stands in a letter is never passed over: not a part of its text, not its feature, not its
// headers. What does not stand in it is passed over almost always.
func FuzzSignature_S4_6_passes_over_no_letter_that_is_meant(f *testing.F) {
	f.Add([]byte(`{"type":"Feature","id":"P-1","properties":{"fee":"N/A"}}`), "P-1", "trace", "one", 3, 9)
	f.Add([]byte("\xff\x00Straße"), "", "", "", 0, 100)
	f.Fuzz(func(t *testing.T, value []byte, feature, name, header string, from, length int) {
		x := &row{}
		x.Control.FeatureID = feature
		x.Content = &deadletters.Content{Value: value, Headers: []kgo.RecordHeader{{Key: name, Value: []byte(header)}}}
		s := signatureOf(x)
		from = min(max(from, 0), len(value))
		part := string(value[from:min(from+max(min(length, 1<<20), 0), len(value))])
		for what, filter := range map[string]deadletters.Filter{
			"part of the value": {Text: part}, "feature": {Features: []string{"another", plain(feature)}},
			"header": {Headers: []deadletters.HeaderMatch{{Name: plain(name)}}},
		} {
			if what == "header" && !deadletters.Searchable(name) {
				continue
			}
			if !demandOf(filter).metBy(s) {
				t.Errorf("the %s is passed over: %+v", what, filter)
			}
		}
	})
}

func TestSignature_S4_6_passes_over_most_letters_that_are_not_meant(t *testing.T) {
	t.Parallel()
	s := make(signature, signatureBytes)
	for i := range signatureLetters {
		s.text([]byte(strings.Repeat("dead letter ", 30) + strings.Repeat(string(rune('a'+i%26)), i)))
		s.name(featureWord, string(rune('a'+i)))
	}
	let := 0
	for i := range 1000 {
		text := string([]byte{'0' + byte(i%10), '-', '0' + byte(i/10%10), '+', '0' + byte(i/100), '='})
		if (demand{{bitsOfText(text)}}).metBy(s) || (demand{{bitsOf(featureWord, text)}}).metBy(s) {
			let++
		}
	}
	if let > 50 {
		t.Errorf("%d of 1000 words that no dead letter has are let through", let)
	}
}

func TestBlock_S4_6_what_a_slot_says_is_read_again(t *testing.T) {
	t.Parallel()
	want := slot{at: -5, size: 1<<32 - 1, group: 7, pipeline: 8, run: 9}
	cell := make([]byte, slotBytes)
	want.write(cell)
	if got := readSlot(cell); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	box := deadletters.BBox{West: 178, South: -20, East: -178, North: -10}
	fresh := boxes.fresh()
	if _, ok := readBox(boxes.cell(fresh, 5)); ok {
		t.Error("a fresh block has a box")
	}
	writeBox(&box, boxes.cell(fresh, 5))
	if got, ok := readBox(boxes.cell(fresh, 5+blockLetters)); !ok || got != box {
		t.Errorf("got %v, want %v", got, box)
	}
	for _, p := range parts() {
		if int64(len(p.fresh())) != p.bytes() || p != boxes && bytes.Trim(p.fresh(), "\x00") != nil {
			t.Errorf("%s is not empty at first", p)
		}
	}
}
