package retrytopics_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// versionsIn gives the versions that the state topic remembers, by the hash of their keys.
func versionsIn(records []*kgo.Record) map[string]string {
	last := map[string]string{}
	for _, r := range records {
		hash, ok := strings.CutPrefix(string(r.Key), "\x00switchback-checkpoint\x00v")
		switch {
		case !ok:
		case r.Value == nil:
			delete(last, hash)
		default:
			last[hash] = string(r.Value)
		}
	}
	return last
}

// S0-6: a partition with more keys than it may remember forgets those whose last event is the oldest, in memory and in the state
// topic, and says so.
func TestEngine_S0_6_forgottenVersionsAreCountedAndLogged(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	var log bytes.Buffer
	f.cfg.Dedupe.Window, f.cfg.Ordering.Versions.MaxKeys = 0, 2
	f.cfg.Limits.Concurrency = 1 // one after another
	f.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	send := func(values ...string) *retrytopics.Engine {
		for _, v := range values {
			k, _, _ := strings.Cut(v, "/")
			f.produce(&kgo.Record{Partition: 0, Key: []byte(k), Value: []byte(v)})
		}
		e := f.engine(f.cfg)
		f.drain(e)
		return e
	}
	f.byPartition()
	e := send("a/5", "b/5", "a/6", "c/5") // b makes room
	got := e.Stats().Versions
	expect.That(t, got.Keys == 2 && got.Forgotten == 1 && got.Bytes != 0, "%+v", got)
	if got := versionsIn(f.read(source + ".state")); len(got) != 2 {
		t.Errorf("the state topic remembers %q", got)
	}
	n := strings.Count(log.String(), "versions are forgotten")
	expect.That(t, n == 1 && strings.Contains(log.String(), "keys=1 max_keys=2"), "it is logged %d times: %s", n, &log)
	f.took = nil
	e = send("a/4", "c/4", "b/4") // over a restart
	f.want("a/4 superseded", "c/4 superseded", "b/4 delivered")
	got = e.Stats().Versions
	expect.That(t, got.Forgotten == 1, "after a restart: %+v", got)
	f.cfg.Ordering.Versions.MaxKeys = 1
	e = send("d/1")
	got = e.Stats().Versions
	expect.That(t, got.Keys == 1 && got.Forgotten == 2 && len(versionsIn(f.read(source+".state"))) == 1, "with a lower limit: %+v", got)
}

// S0-6: a version is written once for each key and transaction, however often the key has changed in it.
func TestEngine_S0_6_aTransactionWritesTheVersionOfAKeyOnce(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	transactions := 0
	f.cfg.Timing.Commit = 300_000_000
	commit := f.cfg.Hooks.OnCommit
	f.cfg.Hooks.OnCommit = func(es []*retrytopics.Event) { transactions++; commit(es) }
	var values []string
	for i := range 200 {
		values = append(values, fmt.Sprintf("k/%d", i))
	}
	f.sends(values...)
	written := 0
	for _, r := range f.read(source + ".state") {
		if len(versionsIn([]*kgo.Record{r})) > 0 {
			written++
		}
	}
	expect.That(t, written != 0 && written <= transactions && len(f.took) == 200, "%d records of one key's version in %d transactions of %d events", written, transactions, len(f.took))
}

// S0-6: a key whose newest version is a wrong one, far ahead of all that will come, is set free with keep: window. What is remembered
// is removed then, so it does not come back with keep: always.
func TestEngine_S0_6_keepWindowRemovesWhatIsRemembered(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.cfg.Dedupe.Window = 0
	f.sends("k/9000000000000000", "k/5")
	f.want("k/9000000000000000 delivered", "k/5 superseded")
	f.cfg.Ordering.Versions.Keep = retrytopics.KeepWindow
	f.sends("k/6")
	f.want("k/6 delivered")
	got := versionsIn(f.read(source + ".state"))
	expect.That(t, len(got) == 0, "the state topic remembers %q", got)
	f.cfg.Ordering.Versions.Keep = retrytopics.KeepAlways
	f.sends("k/7", "k/6")
	f.want("k/7 delivered", "k/6 superseded")
}
