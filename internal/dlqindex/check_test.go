package dlqindex

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/fakekafka"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/postgis"
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
				must.Do(t, w.index.inTx(t.Context(), func(tx *tx) error { return tx.exec(statement) }))
				found, err := w.index.Check(t.Context())
				expect.That(t, err == nil && found.Total != 0 && strings.Contains(strings.Join(found.Faults, "\n"), kind), "found %+v, %v", found, err)
				must.Do(t, w.index.forget(t.Context()))
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
	expect.Equal(t, len(w.letters(Query{})), 1, "dead letters before the next sync")
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
	must.Do(w.t, w.index.Close())
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
			_, err := open(t.Context(), place)
			must.That(t, ofDamage(err) && strings.Contains(err.Error(), place), "%v", err)
			w.index = w.in(must.Get(replace(t.Context(), place, err))(t))
			defer w.shut()
			done, err := w.index.Sync(t.Context())
			expect.That(t, err == nil && done.Letters == 40 && strings.Contains(done.RebuildReason, place+".damaged"), "%+v, %v", done, err)
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
		w.index = w.in(must.Get(open(t.Context(), place))(t))
		found, err := w.index.Check(t.Context())
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

// The driver applies settings in an order of its own, and the page size counts only before the first page is written.
func TestOpen_a_file_is_its_owners_alone_and_has_large_pages(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "deep", "letters.sqlite")
	s := must.Get(open(t.Context(), file))(t)
	defer s.Close()
	info, err := os.Stat(file)
	expect.That(t, err == nil && info.Mode().Perm() == 0o600, "%v, %v", info.Mode(), err)
	for pragma, want := range map[string]string{"page_size": "16384", "journal_mode": "wal"} {
		var got string
		err := s.row(t.Context(), "PRAGMA "+pragma).Scan(&got)
		expect.That(t, err == nil && got == want, "%s is %s, want %s (%v)", pragma, got, want, err)
	}
	expect.That(t, s.Engine() == SQLite && s.Place() == file, "%s at %s", s.Engine(), s.Place())
}

func TestOpen_errors_say_where_and_hide_the_password(t *testing.T) {
	t.Parallel()
	blocked := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(blocked, []byte("not a database, and long enough to be taken for one"), 0o600))
	for place, says := range map[string]string{
		filepath.Join(blocked, "x.sqlite"):                "--index FILE",
		blocked:                                           "not a database",
		"postgres://ana:secret@127.0.0.1:1/x":             "127.0.0.1:1",
		"postgres://ana:secret@host:port:port/x?=":        "postgres://",
		"postgresql://ana:secret@127.0.0.1:1/x?sslmode=q": "postgres://user:password@host:port/database",
	} {
		_, err := open(t.Context(), place)
		expect.That(t, err != nil && strings.Contains(err.Error(), says) && !strings.Contains(err.Error(), "secret"), "%s: %v", place, err)
	}
}

func TestOpen_tables_of_another_version_are_made_anew(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		w.put(w.dead(0, "a", nil))
		w.sync()
		must.Do(t, w.index.inTx(t.Context(), func(tx *tx) error { return tx.exec("UPDATE @dead_letter_schema SET version = 99") }))
		w.index = w.open(place)
		told := ""
		w.index.options.Progress = func(p Progress) { told = p.RebuildReason }
		done, err := w.index.Sync(t.Context())
		expect.That(t, err == nil && done.Letters == 1 && strings.Contains(done.RebuildReason, "version 99") && told == done.RebuildReason, "%+v, told %q, %v", done, told, err)
		w.sound()
	})
}

func TestOpen_leaves_a_table_of_others_alone(t *testing.T) {
	t.Parallel()
	postgis.OrSkip(t, noServer)
	place := server.Database(t)
	s := &database{engine: PostgreSQL}
	must.Do(t, s.openPostgres(place))
	defer s.Close()
	for _, statement := range []string{"CREATE SCHEMA pipeline", "CREATE TABLE pipeline.dead_letter_queue (id BIGSERIAL PRIMARY KEY)"} {
		must.Get(s.db.ExecContext(t.Context(), statement))(t)
	}
	_, err := open(t.Context(), place)
	expect.That(t, err != nil && strings.Contains(err.Error(), "did not make"), "got %v", err)
}

// raw_record takes any bytes: JSON stays as it is, the rest is wrapped.
func FuzzRawRecord(f *testing.F) {
	for _, seed := range []string{"", `{"a": 1.0, "a":2}`, "text", "\xff\xfe", `"\u0000"`, "\x00", strings.Repeat("[", 600) + strings.Repeat("]", 600)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		raw, _ := rawRecord(value)
		expect.That(t, json.Valid([]byte(raw)) && utf8.ValidString(raw) && !strings.Contains(raw, zeroByte), "%q gives %q", value, raw)
		if depth([]byte(raw)) > maxDepth {
			t.Errorf("%q is nested %d deep", raw, depth([]byte(raw)))
		}
		expect.That(t, !json.Valid(value) || !utf8.Valid(value) || depth(value) > maxDepth || raw == string(value), "%q is JSON and was changed to %q", value, raw)
	})
}

// Who may not look at the status topic of a DLQ without a pipeline sees all dead letters as pending, and is told.
func TestIndex_S4_6_aStatusTopicThatMayNotBeLookedAtIsADoubt(t *testing.T) {
	t.Parallel()
	const status = "payments.DLT.replayer-status"
	broker := fakekafka.Start(t, kfake.SeedTopics(1, "payments.DLT", status))
	cfg := must.Get(config.ParseDLQ(config.DLQ{Topic: "payments.DLT", Brokers: broker.ListenAddrs()}, nil, nil))(t)
	for _, denied := range []bool{false, true} {
		if denied {
			broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: status, Err: kerr.TopicAuthorizationFailed, Count: -1})
		}
		var doubts []string
		x := must.Get(OpenIndex(t.Context(), fakekafka.Client(t, broker), cfg, Options{Alone: true, Place: InMemory, Doubt: func(why string) { doubts = append(doubts, why) }}))(t)
		must.Get(x.Fresh(t.Context()))(t)
		said := strings.Join(doubts, "\n")
		expect.That(t, denied == strings.Contains(said, status) && len(doubts) <= 1, "denied %v: %q", denied, said)
		expect.Do(t, x.Close())
	}
}
