package replay

import (
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// undecided begins a transaction of somebody else, a consumer say, with a record in one partition, and gives what commits it.
func (w *world) undecided(r *kgo.Record) (commit func()) {
	w.t.Helper()
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(w.broker.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("somebody")))(w.t)
	w.t.Cleanup(client.Close)
	must.Do(w.t, client.BeginTransaction())
	must.Do(w.t, client.ProduceSync(w.ctx(), r).FirstErr())
	return func() {
		if err := client.EndTransaction(w.ctx(), kgo.TryCommit); err != nil {
			w.t.Error(err)
		}
	}
}

// secondLook runs fn once, when the end of what is decided in a topic is asked for the second time from now on.
func (w *world) secondLook(topic string, fn func()) {
	var looks atomic.Int32
	w.broker.ControlKey(int16(kmsg.ListOffsets), func(req kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		asked := req.(*kmsg.ListOffsetsRequest)
		if asked.IsolationLevel == 1 && asked.Topics[0].Topic == topic && looks.Add(1) == 2 {
			go fn()
		}
		return nil, nil, false
	})
}

// What an earlier replayer committed can lie behind the open transaction of a consumer, where a reader of what is
// committed does not see it yet.
func TestExecute_C4_what_an_open_transaction_hides_is_not_put_back_again(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.die(letter(0, "a", square))
	p := w.plan(w.service(), deadletters.Filter{})
	commit := w.undecided(deadletters.State{ID: "another", Status: deadletters.Reprocessed, At: start, By: "c"}.Record("features.dlq-status", 0))
	w.die(deadletters.State{ID: "a", Status: deadletters.Replaying, At: start, By: "bo"}.Record("features.dlq-status", 0))
	w.secondLook("features.dlq-status", commit)
	if r := w.execute(w.service(), p); r.Reinjected != 0 || r.Left != 1 {
		t.Errorf("%+v", r)
	}
	w.sentOnce()
}

func TestVerify_S0_11_what_an_open_transaction_hides_is_not_missing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.die(letter(0, "a", square))
	commit := w.undecided(&kgo.Record{Topic: "features.audit", Value: []byte(`{}`)})
	w.change(Discard, deadletters.Filter{})
	w.secondLook("features.audit", commit)
	for _, r := range w.verify() {
		if r.Fault != "" {
			t.Errorf("%+v", r)
		}
	}
}
