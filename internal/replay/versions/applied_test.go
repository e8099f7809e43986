package versions

import (
	"testing"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// S4-8: a plan holds a part to the version of its record, as the consumer does: what is newer supersedes it, and what its own record
// became does not.
func TestNewest_S4_8_aPartIsHeldToTheVersionOfItsRecord(t *testing.T) {
	t.Parallel()
	l, own := letterOfPart(1, 10), int64(5)
	for name, c := range map[string]struct {
		newest header.Version
		older  bool
	}{
		"its own record":         {header.Version{Number: 12, Offset: 40}, false},
		"an older event":         {header.Version{Number: 7, Offset: 90}, false},
		"a newer event":          {header.Version{Number: 11, Offset: 30}, true},
		"a later one of its age": {header.Version{Number: 10, Offset: 90}, true},
	} {
		n := &Applied{latest: map[idempotency.KeyHash]statetopic.Latest{l.KeyHash(): {Version: c.newest}}}
		expect.Equal(t, n.Supersedes(l, pipeline.Tried{Version: &own}), c.older, name, "superseded")
	}
}

// letterOfPart is the dead letter of a part of the record at offset 40.
func letterOfPart(index int, version int64) *deadletters.Letter {
	l := &deadletters.Letter{Key: []byte("k"), ContentHash: "sha256:00", ID: "0-40-aabbccdd-1"}
	l.Control = header.Control{
		Source: header.Position{Topic: "features", Offset: 40}, HasSource: true, Part: header.Part{Index: index, Of: 8}, PartVersion: &version,
	}
	return l
}
