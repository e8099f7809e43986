package replay

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// partLetter is the dead letter of a part of the record at offset 40.
func partLetter(index int, version int64) *deadletters.Letter {
	l := &deadletters.Letter{Key: []byte("k"), ContentHash: "sha256:00"}
	l.Control = header.Control{
		Source: header.Position{Topic: "features", Offset: 40}, HasSource: true, Part: header.Part{Index: index, Of: 8}, PartVersion: &version,
	}
	l.ID = "0-40-aabbccdd-" + string(rune('0'+index))
	return l
}

// C-4: two features of one collection that say the same are two features: neither stands for the other.
func TestContent_C4_partsOfOneRecordAreApart(t *testing.T) {
	t.Parallel()
	a, b := partLetter(1, 5), partLetter(2, 5)
	if contentOf(a) == contentOf(b) || contentOf(a) != contentOf(partLetter(1, 5)) {
		t.Error("the part does not tell contents apart")
	}
	state := deadletters.State{ID: a.ID}.Naming(a)
	if of, ok := contentOfState(&state); !ok || of != contentOf(a) {
		t.Error("its state speaks of another content than the dead letter")
	}
}

// S4-8: a plan holds a part to the version of its record, as the consumer does: what is newer supersedes it, and what its own record
// became does not.
func TestNewest_S4_8_aPartIsHeldToTheVersionOfItsRecord(t *testing.T) {
	t.Parallel()
	l, own := partLetter(1, 10), int64(5)
	for name, c := range map[string]struct {
		newest retrytopics.Version
		older  bool
	}{
		"its own record":         {retrytopics.Version{Number: 12, Offset: 40}, false},
		"an older event":         {retrytopics.Version{Number: 7, Offset: 90}, false},
		"a newer event":          {retrytopics.Version{Number: 11, Offset: 30}, true},
		"a later one of its age": {retrytopics.Version{Number: 10, Offset: 90}, true},
	} {
		n := &newest{applied: map[idempotency.KeyHash]retrytopics.Latest{l.KeyHash(): {Version: c.newest}}}
		if got := n.than(l, pipeline.Tried{Version: &own}); got != c.older {
			t.Errorf("%s: superseded %v", name, got)
		}
	}
}
