package replay

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// kept says, as the consumer does for every key, what its newest version is; it is forgotten when there is none.
func (w *world) kept(id, property string, version ...int64) {
	w.t.Helper()
	hash := idempotency.HashKey([]byte("key of " + id))
	r := &kgo.Record{Topic: "features.state", Key: append([]byte("\x00switchback-checkpoint\x00v"), hash[:]...)}
	if len(version) > 0 {
		r.Value = fmt.Appendf(nil, `{"format":1,"version":[%d,%d,%d],"scale":%q}`, version[0], version[1], version[2], retrytopics.ScaleOf(property))
	}
	w.die(r)
	w.dead--
}

// S0-6: the newest version of a key is known as long as the key, whatever the ledger and the key's state have forgotten.
func TestPlan_S0_6_predicts_by_the_versions_that_are_kept(t *testing.T) {
	t.Parallel()
	w := versioned(t)
	const own = "properties.rev"
	var letters []*kgo.Record
	for _, id := range []string{"newer", "older", "gone", "deleted", "state", "both", "elsewhere", "before", "expired"} {
		letters = append(letters, letter(0, id, fmt.Sprintf(revision, id, 5)))
	}
	w.die(letters...) // their offset is 40
	w.kept("newer", own, 6, 10, 0)
	w.kept("older", own, 4, 90, 0)
	w.kept("gone", own, 6, 10, 0)
	w.kept("gone", own)
	w.kept("deleted", own, 3, 60, 61)
	w.kept("state", own, 6, 10, 0)
	w.die(&kgo.Record{Topic: "features.state", Key: []byte("key of state")}) // the tombstone of the state is not one of the version
	w.dead--
	w.applied("both", 6, 10)
	w.kept("both", own, 4, 5, 0)
	w.kept("elsewhere", "properties.updated", 1000000, 39, 0) // numbers of another property: the offset decides
	w.kept("before", "properties.updated", 1, 41, 0)
	w.remembered("expired", 6, 10, 25*time.Hour)
	w.kept("another key", own, 9, 90, 0)
	want := map[string]bool{"newer": true, "deleted": true, "state": true, "both": true, "before": true}
	if p := w.plan(w.service(), deadletters.Filter{}); !maps.Equal(w.superseded(p), want) || p.Doubt != "" {
		t.Errorf("superseded %v, want %v; doubt %q", w.superseded(p), want, p.Doubt)
	}
	w.cfg.Ordering.Versions.Keep = config.KeepVersionsWindow // then the consumer does not read them
	if got := w.superseded(w.plan(w.service(), deadletters.Filter{})); !maps.Equal(got, map[string]bool{"both": true}) {
		t.Errorf("with keep: window %v", got)
	}
}
