package dlqindex

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Whatever is changed behind the index's back, a check finds it.
func TestCheck_S4_6_finds_what_does_not_agree_with_the_topics(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		w.put(w.dead(0, "a", nil), w.dead(1, "b", nil), w.dead(2, "c", nil))
		w.put(state(0, "a", deadletters.Discarded, 0))
		for kind, statement := range map[string]string{
			"missing":                        "DELETE FROM @dead_letter_queue WHERE id = 'b'",
			"surplus":                        "UPDATE @dead_letter_queue SET id = 'x' WHERE id = 'b'",
			"differs":                        "UPDATE @dead_letter_queue SET error_message = 'another' WHERE id = 'c'",
			"differs: dead letter c":         "UPDATE @dead_letter_queue SET raw_record = '{}' WHERE id = 'c'",
			"state: dead letter a":           "UPDATE @dead_letter_queue SET status = 'pending' WHERE id = 'a'",
			"state":                          "UPDATE @dead_letter_queue SET resolution_note = 'none' WHERE id = 'a'",
			"count: letters per group":       "UPDATE @dead_letter_count SET replayed = 7",
			"count: letters per group and s": "UPDATE @dead_letter_queue SET gone = 1 WHERE id = 'a'",
			"count: letters":                 "UPDATE @dead_letter_queue SET group_id = 'another' WHERE id = 'b'",
			"count: pending letters per day": "DELETE FROM @dead_letter_day",
		} {
			t.Run(kind, func(t *testing.T) {
				w.t = t
				w.sync()
				w.sound()
				must.Do(t, w.store.inTx(t.Context(), func(tx *tx) error { return tx.exec(statement) }))
				found, err := w.store.Check(t.Context(), w.cl, source)
				expect.That(t, err == nil && found.Total != 0 && strings.Contains(strings.Join(found.Faults, "\n"), kind), "found %+v, %v", found, err)
				must.Do(t, w.store.Forget(t.Context(), w.cluster, "dlq"))
			})
		}
	})
}

func TestCheck_S4_6_looks_only_as_far_as_the_index_is(t *testing.T) {
	t.Parallel()
	w := newWorld(t, InMemory)
	w.put(w.dead(0, "a", nil))
	w.sync()
	w.put(w.dead(0, "b", nil), w.dead(0, "a", nil), state(0, "a", deadletters.Discarded, 0))
	w.sound()
	n := len(w.letters(Query{}))
	expect.That(t, n == 1, "%d dead letters before the next sync", n)
}

// aged gives a world with letters in its index, which is then closed.
func aged(t *testing.T, place string) *world {
	t.Helper()
	w := newWorld(t, place)
	for i := range 40 {
		w.put(w.dead(0, fmt.Sprintf("north-%d", i), nil))
	}
	w.sync()
	return w
}

func (w *world) shut() {
	w.t.Helper()
	must.Do(w.t, w.store.Close())
}

func ofDamage(err error) bool {
	_, damaged := errors.AsType[*DamagedError](err)
	return damaged && strings.Contains(err.Error(), "--rebuild")
}

func TestOpen_S4_6_notices_a_damaged_file(t *testing.T) {
	t.Parallel()
	const page = 16384
	for name, spoil := range map[string]func([]byte) []byte{
		"no database": func([]byte) []byte { return bytes.Repeat([]byte("x"), 2*page) },
		"a page of zeros": func(b []byte) []byte {
			return append(append(bytes.Clone(b[:page]), make([]byte, page)...), b[2*page:]...)
		},
		"cut in half": func(b []byte) []byte { return b[:len(b)/page/2*page] },
	} {
		t.Run(name, func(t *testing.T) {
			place := filepath.Join(t.TempDir(), "index.sqlite")
			w := aged(t, place)
			w.shut()
			whole := must.Get(os.ReadFile(place))(t)
			must.Do(t, os.WriteFile(place, spoil(whole), 0o600))
			s, err := Open(t.Context(), place)
			must.That(t, ofDamage(err) && strings.Contains(err.Error(), place), "%v, %v", s, err)
			if w.store, err = Replace(t.Context(), place, err); err != nil {
				t.Fatal(err)
			}
			defer w.shut()
			done, err := w.store.Sync(t.Context(), w.cl, source, nil)
			expect.That(t, err == nil && done.Letters == 40 && strings.Contains(done.Anew, place+".damaged"), "%+v, %v", done, err)
			w.sound()
			kept, err := os.ReadFile(place + ".damaged")
			expect.That(t, err == nil && bytes.Equal(kept, spoil(whole)), "%d bytes kept, %v", len(kept), err)
		})
	}
}

// Filters are answered from an index. A byte that changes there, or in a row, leaves the pages of the file linked as they
// were. A check finds it, unless it stands where nothing is stored any more, and changes no answer.
func TestCheck_S4_6_notices_a_changed_byte(t *testing.T) {
	t.Parallel()
	place := filepath.Join(t.TempDir(), "index.sqlite")
	w := aged(t, place)
	answers := func() []string {
		ofRun := Query{Filter: deadletters.Filter{Runs: []string{"run-1"}}}
		return append(told(w.letters(Query{})), told(w.letters(ofRun))...)
	}
	want := answers()
	w.shut()
	whole := must.Get(os.ReadFile(place))(t)
	run := []byte("run-1")
	noticed, at := 0, 0
	for range bytes.Count(whole, run) {
		at += bytes.Index(whole[at:], run)
		spoilt := bytes.Clone(whole)
		spoilt[at] ^= 1
		at += len(run)
		must.Do(t, os.WriteFile(place, spoilt, 0o600))
		w.store = must.Get(Open(t.Context(), place))(t)
		found, err := w.store.Check(t.Context(), w.cl, source)
		switch {
		case ofDamage(err), err == nil && found.Total > 0:
			noticed++
		case err != nil:
			t.Fatal(err)
		case !slices.Equal(answers(), want):
			t.Errorf("a changed byte at %d changes answers", at)
		}
		w.shut()
	}
	if noticed < 80 { // of 40 letters, each in its row and in an index
		t.Errorf("%d changed bytes were noticed", noticed)
	}
}
