package retrytopics_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// deletes puts a tombstone behind what was sent.
func (f *forcing) deletes() *kgo.Record { return &kgo.Record{Key: []byte("k")} }

func event(value string) *kgo.Record { return &kgo.Record{Key: []byte("k"), Value: []byte(value)} }

// A delete counts as newer than every event of its key before it, also than a dead letter with a greater version.
func TestEngine_latestWinsADeadLetterDoesNotUndoADelete(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.fail["k/7 1"] = badRow
	f.produce(event("k/7"), f.deletes())
	f.drain(f.engine(f.cfg))
	delete(f.fail, "k/7 1")
	f.replays(false)
	f.want("k/7 dead_lettered", " delivered", "k/7 superseded")
	f.replays(true)
	f.want("k/7 delivered by force")
}

// A, B, A in strict order: B died, and the second A says again what stands there. B put back is older than that.
func TestEngine_strictARepetitionIsNewerThanALetter(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderStrict, false)
	f.fail["k/B 1"] = badRow
	f.sends("k/A", "k/B", "k/A")
	delete(f.fail, "k/B 1")
	f.replays(false)
	f.want("k/A delivered", "k/B dead_lettered", "k/A duplicate", "k/B superseded")
}

// An event without a version is not compared; but what stands there is its content, so the one before it is a change.
func TestEngine_aChangeWithoutAVersionIsAChange(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.sends("k/5", "k", "k/5", "k/4")
	f.want("k/5 delivered", "k delivered", "k/5 delivered", "k/4 superseded")
}

// A delete of a key of which nothing is known is older than every event behind it, also than one with a negative version: a
// time before 1970 is one.
func TestEngine_whatComesAfterADeleteOfAnUnknownKeyTakesEffect(t *testing.T) {
	t.Parallel()
	f := newForcing(t, retrytopics.OrderLatestWins, true)
	f.produce(f.deletes(), event("k/-5"), event("k/-6"))
	f.drain(f.engine(f.cfg))
	f.want(" delivered", "k/-5 delivered", "k/-6 superseded")
}
