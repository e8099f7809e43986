package replay

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// inDirectory is a service that keeps its states in a directory, which it makes unless it is there.
func (w *world) inDirectory(dir string, opts ...kgo.Opt) *Service {
	w.t.Helper()
	s := w.service(opts...)
	s.store.Directory = dir
	must.Do(w.t, s.OpenState(w.ctx()))
	if s.MissingState() != "" {
		must.Do(w.t, s.CreateState())
	}
	return s
}

// noTopics is a world whose cluster has the DLQ of another software and its origin alone.
func noTopics(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, kfake.SeedTopics(3, "payments", dlt))
	w.cfg, w.alone = must.Get(config.ParseDLQ(config.DLQ{Topic: dlt, Brokers: w.broker.ListenAddrs()}, nil, nil))(t), true
	return w
}

// A replayer that keeps its states in a directory is killed at each step of a transaction: what it left there is what the next one finds.
// Each dead letter goes back once.
func TestStateDir_C4_killedAtEachStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at        int32 // end of a transaction before which it is killed
		committed bool  // nevertheless: the broker had the commit already
		cut       int64 // bytes of its last line that the disk did not get
		gone      bool  // what was sent is not there any more
		lost      int   // dead letters of which nobody can tell that they went back, and that count as sent
	}{
		"the intent is half written":             {at: 1, cut: 9},
		"before the first commit":                {at: 1},
		"before a later commit":                  {at: 2},
		"after a commit, before its outcome":     {at: 1, committed: true},
		"after the last commit, without outcome": {at: 2, committed: true},
		"and what was sent is gone":              {at: 2, committed: true, gone: true, lost: inBatch + behind},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := noTopics(t)
			w.dieOfSpring(inBatch + behind)
			left, lives := t.TempDir(), filepath.Join(t.TempDir(), "state")
			dead := w.inDirectory(lives)
			plan := w.plan(dead, deadletters.Filter{})
			var ends atomic.Int32
			ctx, kill := context.WithCancel(w.ctx())
			killed, buried := make(chan struct{}), make(chan struct{})
			w.onEndTxn(func(*kmsg.EndTxnRequest) {
				if ends.Add(1) != c.at {
					return
				}
				for i := 0; i < 99 && os.CopyFS(left, os.DirFS(lives)) != nil; i++ { // a lease that is renewed meanwhile takes a file away
					expect.Do(t, os.RemoveAll(left))
				}
				kill()
				close(killed)
				if !c.committed {
					<-buried
				}
			})
			over := make(chan struct{})
			go func() {
				defer close(over)
				_, _ = dead.Execute(ctx, plan, ExecuteOptions{Call: ana("first")})
			}()
			<-killed
			if c.committed {
				<-over
			}
			if c.gone {
				w.forgets("payments")
			}
			journal := filepath.Join(left, "journal")
			must.Do(t, os.Truncate(journal, must.Get(os.Stat(journal))(t).Size()-c.cut))
			next := w.inDirectory(left)
			must.Get(next.Execute(w.ctx(), w.plan(next, deadletters.Filter{}), ExecuteOptions{Call: takingOver("bo", "fixed")}))(t)
			close(buried)
			<-over
			w.eachOnce(next, inBatch+behind-c.lost)
		})
	}
}

// forgets deletes all records of a topic.
func (w *world) forgets(topic string) {
	w.t.Helper()
	admin := kadm.NewClient(w.writer)
	ends := must.Get(admin.ListEndOffsets(w.ctx(), topic))(w.t)
	must.Get(admin.DeleteRecords(w.ctx(), ends.Offsets()))(w.t)
}

// eachOnce fails unless so many dead letters are in their origin, each once, and none is pending.
func (w *world) eachOnce(s *Service, n int) {
	w.t.Helper()
	seen := map[string]int{}
	for _, r := range w.read("payments") {
		seen[string(r.Key)]++
	}
	expect.Equal(w.t, len(seen), n, "dead letters put back")
	for key, times := range seen {
		expect.Equal(w.t, times, 1, key, "was put back")
	}
	rest := w.planWith(s, deadletters.Filter{Statuses: []deadletters.Status{deadletters.Pending}}, PlanOptions{})
	expect.Equal(w.t, rest.Letters, 0, "dead letters that are pending")
}

// A directory that cannot be trusted is refused, with what to do; nothing is sent.
func TestStateDir_C4_refuses(t *testing.T) {
	t.Parallel()
	w := noTopics(t)
	w.dieOfSpring(3)
	whole := filepath.Join(t.TempDir(), "state")
	s := w.inDirectory(whole)
	w.execute(s, w.plan(s, deadletters.Filter{}))
	for name, c := range map[string]struct {
		spoil func(journal string, text []byte) error
		says  string
	}{
		"a byte that was changed": {func(j string, text []byte) error { text[len(text)/2]++; return os.WriteFile(j, text, 0o600) }, "is damaged at byte"},
		"a line that is missing":  {func(j string, text []byte) error { return os.WriteFile(j, text[bytes.IndexByte(text, '\n')+1:], 0o600) }, "is damaged at byte 0"},
		"an older copy":           {func(j string, text []byte) error { return os.WriteFile(j, text[:bytes.IndexByte(text, '\n')+1], 0o600) }, "it was cut off, or an older copy"},
		"no journal":              {func(j string, _ []byte) error { return os.Remove(j) }, "has lost its journal"},
		"jobs that cannot be read": {func(j string, _ []byte) error {
			return os.WriteFile(filepath.Join(filepath.Dir(j), "control.json"), []byte("{"), 0o600)
		}, "delete it if no replayer is running"},
		"a disk that is full": {func(j string, text []byte) error {
			return os.Symlink("/dev/full", filepath.Join(filepath.Dir(j), "control.json.next"))
		}, "no space left on device. Free space"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must.Do(t, os.CopyFS(dir, os.DirFS(whole)))
			journal := filepath.Join(dir, "journal")
			must.Do(t, c.spoil(journal, must.Get(os.ReadFile(journal))(t)))
			s := w.service()
			s.store.Directory = dir
			err := s.OpenState(w.ctx())
			if err == nil {
				_, err = s.Change(w.ctx(), deadletters.Filter{}, Reopen, ana("x"), nil)
			}
			must.That(t, err != nil && strings.Contains(err.Error(), c.says), "%v, want %q", err, c.says)
		})
	}
	other := w.service()
	other.store.Directory, other.store.Topics.DLQ = whole, "orders.DLT"
	err := other.OpenState(w.ctx())
	must.That(t, err != nil && strings.Contains(err.Error(), "contains the state of DLQ payments.DLT"), "%v", err)
}
