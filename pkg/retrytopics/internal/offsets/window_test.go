package offsets

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// A random walk against the simplest model: sets of offsets. At random moments the owner changes, and the next one
// starts from the commit alone.
func TestWindow_matchesASetOfOffsets(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			var log []int64 // offsets that have records
			for at := int64(rnd.IntN(5)); len(log) < 300; at += 1 + int64(rnd.IntN(3)) {
				log = append(log, at)
			}
			done := map[int64]int{}
			committed := Commit{Offset: -1}
			for {
				spans := must.Get(DecodeFinished(max(committed.Offset, 0), committed.Metadata))(t)
				w := NewWindow(committed.Offset, spans)
				w.compact = 8 // merge often
				if walk(w, log, committed.Offset, rnd, done, &committed) {
					break
				}
			}
			for _, o := range log {
				must.That(t, done[o] == 1, "offset %d finished %d times", o, done[o])
			}
		})
	}
}

// walk lets one owner take and finish records for a while; what it finished counts once it is committed.
func walk(w *Window, log []int64, from int64, rnd *rand.Rand, done map[int64]int, committed *Commit) (all bool) {
	var open, finished []int64
	at := 0
	for at < len(log) && log[at] < from {
		at++
	}
	for range 60 + rnd.IntN(200) {
		switch n := rnd.IntN(10); {
		case n < 5 && at < len(log):
			if w.Add(log[at]) {
				open = append(open, log[at])
			}
			at++
		case n < 9 && len(open) > 0:
			i := rnd.IntN(len(open))
			finished = append(finished, open[i])
			open = append(open[:i], open[i+1:]...)
		default:
			for _, o := range finished {
				w.Finish(o)
				done[o]++
			}
			finished = nil
			*committed = w.Commit()
		}
	}
	return committed.Offset > log[len(log)-1]
}

// Transaction markers are not records: they neither separate runs nor delay the position.
func TestWindow_passesMarkers(t *testing.T) {
	t.Parallel()
	w := NewWindow(0, nil)
	w.Add(0)
	w.Pass(1)
	w.Add(2)
	w.Pass(3)
	if w.Finish(2); w.Commit().Offset != 0 || len(w.Finished()) != 1 {
		t.Errorf("mark %+v", w.Commit())
	}
	if w.Finish(0); w.Commit() != (Commit{Offset: 4}) {
		t.Errorf("mark %+v at the end, want offset 4", w.Commit())
	}
	expect.That(t, !w.Expects(3) && w.Expects(4), "the end of the window is not behind the marker")
}

func TestSeal_S4_14(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", EncodeFinished(5, []Span{{7, 9}, {1000, 1000}})} {
		for _, generation := range []Generations{{}, {Now: 1}, {1, 1}, {5, 2}, {MaxGeneration, 0}, {MaxGeneration, MaxGeneration}} {
			sealed := Seal(text, generation)
			got, g, ok := Unseal(sealed)
			expect.That(t, got == text && g == generation && ok, "%q of generation %v became %q, %v, %v", text, generation, got, g, ok)
			expect.That(t, len(sealed)-len(text) <= SealRoom, "a seal of %d bytes", len(sealed)-len(text))
		}
	}
	text, _, ok := Unseal("consumer-1-uuid")
	expect.That(t, text == "consumer-1-uuid" && !ok, "another client's metadata became %q, %v", text, ok)
	text, g, ok := Unseal("consumer-1\r")
	expect.That(t, text == "consumer-1\r" && !ok && g == (Generations{}), "another client's metadata became %q, %v", text, ok)
	_, g, _ = Unseal(strings.Repeat("\r", 9) + "\n\n")
	expect.That(t, g == (Generations{1, 1}), "generation %v", g)
	_, g, _ = Unseal(strings.Repeat("\n", 1000))
	expect.That(t, g.Now == MaxGeneration, "generation %v", g)
}

func FuzzDecodeFinished(f *testing.F) {
	f.Add(int64(0), "")
	f.Add(int64(5), EncodeFinished(5, []Span{{7, 9}, {12, 12}}))
	f.Add(int64(1), "kgo-member-id")
	f.Add(int64(1), "d2:AAAA")
	f.Fuzz(func(t *testing.T, next int64, metadata string) {
		if next < 0 {
			return
		}
		spans, err := DecodeFinished(next, metadata)
		if err != nil || len(spans) == 0 {
			return
		}
		again, err := DecodeFinished(next, EncodeFinished(next, spans))
		must.That(t, err == nil && reflect.DeepEqual(again, spans), "%v became %v (%v)", spans, again, err)
	})
}
