package console

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

func TestRefresher_S4_6_one_refresh_serves_all_readers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refreshes := 0
		r := &refresher{base: t.Context(), now: time.Now, patience: patience, rest: rest, refresh: func(context.Context) (dlqindex.Synced, error) {
			refreshes++
			time.Sleep(2 * time.Second)
			return dlqindex.Synced{Offsets: map[string]int64{"dlq": int64(refreshes)}}, nil
		}}
		var readers sync.WaitGroup
		for range 20 {
			readers.Go(func() {
				if f, err := r.fresh(t.Context()); err != nil || f.Offsets["dlq"] != 1 || f.Stale != "" || f.AgeSeconds != 2 {
					t.Errorf("%+v, %v", f, err)
				}
			})
		}
		readers.Wait()
		time.Sleep(rest)
		if f, err := r.fresh(t.Context()); err != nil || f.Offsets["dlq"] != 2 || refreshes != 2 {
			t.Errorf("%+v, %v after %d refreshes", f, err, refreshes)
		}
	})
}

// A refresh that takes long delays no answer beyond the patience, and does not end with the reader that started it.
func TestRefresher_S4_6_answers_from_what_it_has(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := time.Second
		broken := errors.New("no broker")
		var outcome error
		r := &refresher{base: t.Context(), now: time.Now, patience: patience, rest: rest, refresh: func(ctx context.Context) (dlqindex.Synced, error) {
			select {
			case <-time.After(took):
			case <-ctx.Done():
				t.Error("a refresh was ended")
			}
			return dlqindex.Synced{Offsets: map[string]int64{"dlq": 7}}, outcome
		}}
		first, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.fresh(first); !errors.Is(err, context.Canceled) {
			t.Errorf("a reader that went away: %v", err)
		}
		r.wait()
		time.Sleep(rest)
		took, outcome = time.Minute, broken
		if f, err := r.fresh(t.Context()); err != nil || f.Offsets["dlq"] != 7 || !strings.Contains(f.Stale, "are being read since") || f.AgeSeconds != 5 {
			t.Errorf("while a refresh runs: %+v, %v", f, err)
		}
		r.wait()
		if f, err := r.fresh(t.Context()); err != nil || !strings.Contains(f.Stale, "no broker") || f.AgeSeconds < 60 {
			t.Errorf("after it failed: %+v, %v", f, err)
		}
		r.wait()
	})
}

func TestRefresher_S4_6_an_index_that_is_being_filled_is_no_answer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &refresher{base: t.Context(), now: time.Now, patience: patience, rest: rest, refresh: func(context.Context) (dlqindex.Synced, error) {
			time.Sleep(time.Minute)
			return dlqindex.Synced{}, nil
		}}
		if f, err := r.fresh(t.Context()); err == nil || !strings.Contains(err.Error(), "being filled") {
			t.Errorf("%+v, %v", f, err)
		}
		r.wait()
		if _, err := r.fresh(t.Context()); err != nil {
			t.Error(err)
		}
		r.wait()
	})
}

// Without a broker the index still answers, with the age of what it knows; what only a broker knows is refused with what to do.
func TestConsole_S4_6_while_no_broker_answers(t *testing.T) {
	d := newDesk(t, letter("a", 0))
	read[StatsAnswer](d, "/api/stats")
	d.broker.Close()
	d.now = start.Add(90 * time.Second)
	for path, fresh := range map[string]Freshness{
		"/api/stats":   read[StatsAnswer](d, "/api/stats").Fresh,
		"/api/groups":  read[GroupsAnswer](d, "/api/groups").Fresh,
		"/api/letters": read[LettersAnswer](d, "/api/letters").Fresh,
		"/api/map":     read[MapAnswer](d, "/api/map").Fresh,
	} {
		if fresh.AgeSeconds != 90 || !strings.Contains(fresh.Stale, "cannot reach Kafka") {
			t.Errorf("%s: %+v", path, fresh)
		}
	}
	if got := read[StatsAnswer](d, "/api/stats").Stats; got.Letters != 1 || got.Retention.Milliseconds != nil {
		t.Errorf("%+v", got)
	}
	for _, path := range []string{"/api/letters/a", "/api/letters/a/value", "/api/replays", "/api/replays/fix", "/api/audit"} {
		if said := d.refused(d.get(path), http.StatusServiceUnavailable); !strings.Contains(said.Message, "is the broker running?") || said.Exit != cli.ExitRuntime || said.Code != "unavailable" {
			t.Errorf("%s: %+v", path, said)
		}
	}
}

// No answer comes from an index that is damaged while the console runs.
func TestConsole_S4_6_a_damaged_index_is_named(t *testing.T) {
	d := newDesk(t, letter("a", 0), letter("b", 1))
	read[StatsAnswer](d, "/api/stats")
	d.console.letters.Close() // all that it wrote is in the file now
	d.open()
	other, err := dlq.Open(t.Context(), d.configure(), dlq.Options{Index: dlqindex.Options{Place: d.index}, Now: func() time.Time { return d.now }})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Index().Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(d.index)
	if err != nil {
		t.Fatal(err)
	}
	const page = 16384
	for i := page; i < len(whole); i++ {
		whole[i] = 0x5a
	}
	if err := os.WriteFile(d.index, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Index().Sync(t.Context()); err != nil { // from its own memory; what it writes makes others read the file again
		t.Fatal(err)
	}
	for _, path := range []string{"/api/stats", "/api/letters", "/api/letters/a"} {
		if said := d.refused(d.get(path), http.StatusServiceUnavailable); !strings.Contains(said.Message, "is damaged") || !strings.Contains(said.Message, "replayer index --rebuild") {
			t.Errorf("%s: %+v", path, said)
		}
	}
}
