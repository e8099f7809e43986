package retrytopics

import (
	"errors"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

// S0-4: what is read of a commit from outside is what the engine wrote.
func TestParseCommit_S0_4_readsWhatIsCommitted(t *testing.T) {
	t.Parallel()
	w := offsets.NewWindow(5, nil)
	for at := range int64(8) {
		w.Add(5 + at)
	}
	for _, at := range []int64{5, 7, 8, 11} {
		w.Finish(at)
	}
	m := w.Commit()
	c, err := ParseCommit(m.Offset, offsets.Seal(m.Metadata, offsets.Generations{Now: 3}))
	if want := (Commit{Offset: 6, Ahead: []Run{{7, 8}, {11, 11}}, Generation: 3, First: 3}); err != nil || !reflect.DeepEqual(c, want) {
		t.Fatalf("%+v, %v, want %+v", c, err, want)
	}
	for at, want := range map[int64]bool{0: true, 5: true, 6: false, 7: true, 8: true, 9: false, 10: false, 11: true, 12: false} {
		expect.That(t, c.Finished(at) == want, "%d finished: %t", at, !want)
	}
	expect.That(t, !(Commit{Offset: -1}).Finished(0), "without a commit, something is finished")
	c, err = ParseCommit(9, "member-7")
	expect.That(t, err == nil && len(c.Ahead) <= 0, "metadata of other software: %+v, %v", c, err)
	_, err = ParseCommit(9, "d2:")
	expect.That(t, errors.Is(err, ErrNewerMetadata), "metadata of a newer version: %v", err)
}

// S0-4: checkpoints are read as the engine wrote them; other records of the state topic are none.
func TestParseCheckpoint_S0_4(t *testing.T) {
	t.Parallel()
	id := topicID{1, 2}
	cp := checkpoint{group: "g", source: "s", generation: 2, positions: map[string]topicPosition{"s": {id, offsets.Commit{Offset: 7, Metadata: offsets.EncodeFinished(7, []offsets.Span{{First: 9, Last: 9}})}}}}
	r := must.Get(cp.record("state", 0))(t)
	got, ok, err := ParseCheckpoint(r)
	want := Checkpoint{Group: "g", Source: "s", Generation: 2, First: 2, Positions: map[string]TopicCommit{"s": {id, Commit{Offset: 7, Ahead: []Run{{9, 9}}}}}}
	expect.That(t, err == nil && ok && reflect.DeepEqual(got, want), "%+v, %t, %v", got, ok, err)
	for _, other := range []*kgo.Record{{Key: []byte("k"), Value: r.Value}, {Key: r.Key}, {}} {
		if _, ok, err := ParseCheckpoint(other); ok || err != nil {
			t.Errorf("%q: %t, %v", other.Key, ok, err)
		}
	}
	_, _, err = ParseCheckpoint(&kgo.Record{Key: r.Key, Value: []byte("{")})
	expect.That(t, err != nil, "a broken checkpoint is read")
}

func FuzzParseCommit(f *testing.F) {
	f.Add(int64(7), offsets.EncodeFinished(7, []offsets.Span{{First: 9, Last: 9}})+"\n")
	f.Add(int64(-1), "d1:////")
	f.Fuzz(func(t *testing.T, offset int64, metadata string) {
		c, err := ParseCommit(offset, metadata)
		if err != nil {
			return
		}
		for _, r := range c.Ahead {
			expect.That(t, c.Finished(r.First) && c.Finished(r.Last), "%+v of %q is not finished", r, metadata)
		}
	})
}
