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
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
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
				f, err := r.fresh(t.Context())
				expect.That(t, err == nil && f.Offsets["dlq"] == 1 && f.Stale == "" && f.AgeSeconds == 2, "%+v, %v", f, err)
			})
		}
		readers.Wait()
		time.Sleep(rest)
		f, err := r.fresh(t.Context())
		expect.That(t, err == nil && f.Offsets["dlq"] == 2 && refreshes == 2, "%+v, %v after %d refreshes", f, err, refreshes)
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
		_, err := r.fresh(first)
		expect.That(t, errors.Is(err, context.Canceled), "a reader that went away: %v", err)
		r.wait()
		time.Sleep(rest)
		took, outcome = time.Minute, broken
		f, err := r.fresh(t.Context())
		expect.That(t, err == nil && f.Offsets["dlq"] == 7 && strings.Contains(f.Stale, "are being read since") && f.AgeSeconds == 5, "while a refresh runs: %+v, %v", f, err)
		r.wait()
		f, err = r.fresh(t.Context())
		expect.That(t, err == nil && strings.Contains(f.Stale, "no broker") && f.AgeSeconds >= 60, "after it failed: %+v, %v", f, err)
		r.wait()
	})
}

func TestRefresher_S4_6_an_index_that_is_being_filled_is_no_answer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &refresher{base: t.Context(), now: time.Now, patience: patience, rest: rest, refresh: func(context.Context) (dlqindex.Synced, error) {
			time.Sleep(time.Minute)
			return dlqindex.Synced{}, nil
		}}
		f, err := r.fresh(t.Context())
		expect.That(t, err != nil && strings.Contains(err.Error(), "being filled"), "%+v, %v", f, err)
		r.wait()
		_, err = r.fresh(t.Context())
		expect.That(t, err == nil, "%v", err)
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
		expect.That(t, fresh.AgeSeconds == 90 && strings.Contains(fresh.Stale, "cannot reach Kafka"), "%s: %+v", path, fresh)
	}
	got := read[StatsAnswer](d, "/api/stats").Stats
	expect.That(t, got.Letters == 1 && got.Retention.Milliseconds == nil, "%+v", got)
	for _, path := range []string{"/api/letters/a", "/api/letters/a/value", "/api/replays", "/api/replays/fix", "/api/audit"} {
		said := d.refused(d.get(path), http.StatusServiceUnavailable)
		expect.That(t, strings.Contains(said.Message, "is the broker running?") && said.Exit == cli.ExitRuntime && said.Code == "unavailable", "%s: %+v", path, said)
	}
}

// No answer comes from an index that is damaged while the console runs.
func TestConsole_S4_6_a_damaged_index_is_named(t *testing.T) {
	d := newDesk(t, letter("a", 0), letter("b", 1))
	read[StatsAnswer](d, "/api/stats")
	d.console.letters.Close() // all that it wrote is in the file now
	d.open()
	other := must.Get(dlq.Open(t.Context(), d.configure(), dlq.Options{Index: dlqindex.Options{Place: d.index}, Now: func() time.Time { return d.now }}))(t)
	defer other.Close()
	must.Get(other.Index().Sync(t.Context()))(t)
	whole := must.Get(os.ReadFile(d.index))(t)
	const page = 16384
	for i := page; i < len(whole); i++ {
		whole[i] = 0x5a
	}
	must.Do(t, os.WriteFile(d.index, whole, 0o600))
	if _, err := other.Index().Sync(t.Context()); err != nil { // from its own memory; what it writes makes others read the file again
		t.Fatal(err)
	}
	for _, path := range []string{"/api/stats", "/api/letters", "/api/letters/a"} {
		said := d.refused(d.get(path), http.StatusServiceUnavailable)
		expect.That(t, strings.Contains(said.Message, "is damaged") && strings.Contains(said.Message, "replayer index --rebuild"), "%s: %+v", path, said)
	}
}
