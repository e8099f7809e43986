package retrytopics

import (
	"errors"
	"reflect"
	"testing"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

func id(n byte) topicID { return topicID{n} }

func sample() *checkpoint {
	return &checkpoint{
		group: "g", source: "features", generation: 2, same: 1, ledger: id(9), ledgerFrom: 17, scale: "1a2b3c4d", scaleFrom: 5,
		positions: map[string]topicPosition{
			"features":          {id(1), offsets.Commit{Offset: 42, Metadata: offsets.EncodeFinished(42, []offsets.Span{{First: 44, Last: 50}})}},
			"features.retry-2s": {id(2), offsets.Commit{Offset: 7, Metadata: ""}},
			"features.retry-8s": {id(3), offsets.Commit{Offset: -1}},
		},
	}
}

func TestCheckpoint_S4_14_roundTrip(t *testing.T) {
	t.Parallel()
	r, err := sample().record("features.state", 3)
	must.That(t, err == nil && r.Topic == "features.state" && r.Partition == 3 && string(r.Key) == checkpointKey, "record %+v, %v", r, err)
	got, err := decodeCheckpoint(r.Value)
	expect.That(t, err == nil && reflect.DeepEqual(got, sample()), "got %+v, %v", got, err)
	// A version without checkpoints reads it as the state of a key of which nothing waits.
	st, err := decodeState(r.Value, ScaleOffset)
	expect.That(t, err == nil && st == (keyorder.State{}), "as a state: %+v, %v", st, err)
	m, ok, err := ReadRemembered(r.Key, r.Value, ScaleOffset)
	expect.That(t, !ok && !m.Known && err == nil, "as a version: %v, %v", ok, err)
}

func TestCheckpoint_S4_14_refuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value string
		newer bool
	}{
		"nothing":           {``, false},
		"not JSON":          {`{`, false},
		"a state":           {`{"format":1}`, false},
		"a later state":     {`{"format":2,"checkpoint":{"format":1}}`, true},
		"a later form":      {`{"format":1,"checkpoint":{"format":2}}`, true},
		"no form":           {`{"format":1,"checkpoint":{}}`, false},
		"generation":        {`{"format":1,"checkpoint":{"format":1,"generation":-1}}`, false},
		"many generations":  {`{"format":1,"checkpoint":{"format":1,"generation":65}}`, false},
		"same source":       {`{"format":1,"checkpoint":{"format":1,"generation":1,"same_source":2}}`, false},
		"ledger offset":     {`{"format":1,"checkpoint":{"format":1,"ledger_from":-1}}`, false},
		"ledger id":         {`{"format":1,"checkpoint":{"format":1,"ledger":"AA"}}`, false},
		"topic id":          {`{"format":1,"checkpoint":{"format":1,"at":{"t":{"id":"!","offset":1}}}}`, false},
		"offset":            {`{"format":1,"checkpoint":{"format":1,"at":{"t":{"offset":-2}}}}`, false},
		"broken gaps":       {`{"format":1,"checkpoint":{"format":1,"at":{"t":{"offset":2,"ahead":"d1:!"}}}}`, false},
		"gaps of the later": {`{"format":1,"checkpoint":{"format":1,"at":{"t":{"offset":2,"ahead":"d9:"}}}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			cp, err := decodeCheckpoint([]byte(c.value))
			expect.That(t, err != nil && errors.Is(err, ErrNewerState) == c.newer, "got %+v, %v", cp, err)
		})
	}
}

// A producer may use any key, the checkpoint's own as well.
func TestStateKey_S4_14_noKeyIsTheCheckpoint(t *testing.T) {
	t.Parallel()
	for _, k := range []string{"", "k", "\x00", checkpointKey, checkpointKey + "k", checkpointKey + checkpointKey, checkpointKey[:5]} {
		got, ok := keyOfState(stateKeyOf(k))
		expect.That(t, ok && got == k, "%q became %q, %v", k, got, ok)
	}
	_, ok := keyOfState([]byte(checkpointKey))
	expect.That(t, !ok, "the checkpoint was taken for a key")
}

func FuzzCheckpoint(f *testing.F) {
	r := must.Get(sample().record("s", 0))(f)
	for _, seed := range []string{string(r.Value), `{"format":1,"checkpoint":{"format":1,"at":{"t":{"offset":2}}}}`, `{"format":1}`, `{`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		cp, err := decodeCheckpoint(value)
		if err != nil {
			return
		}
		r := must.Get(cp.record("s", 0))(t)
		again, err := decodeCheckpoint(r.Value)
		must.That(t, err == nil && reflect.DeepEqual(again, cp), "%s became %s: %v", value, r.Value, err)
	})
}
