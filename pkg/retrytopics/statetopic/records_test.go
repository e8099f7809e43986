package statetopic

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

func id(n byte) TopicID { return TopicID{n} }

func sample() *Checkpoint {
	return &Checkpoint{
		Group: "g", Source: "features", Generation: 2, Same: 1, Ledger: id(9), LedgerFrom: 17, Scale: "1a2b3c4d", ScaleFrom: 5,
		Positions: map[string]Position{
			"features":          {id(1), offsets.Commit{Offset: 42, Metadata: offsets.EncodeFinished(42, []offsets.Span{{First: 44, Last: 50}})}},
			"features.retry-2s": {id(2), offsets.Commit{Offset: 7, Metadata: ""}},
			"features.retry-8s": {id(3), offsets.Commit{Offset: -1}},
		},
	}
}

func TestCheckpoint_S4_14_roundTrip(t *testing.T) {
	t.Parallel()
	r, err := sample().Record("features.state", 3)
	must.That(t, err == nil && r.Topic == "features.state" && r.Partition == 3 && string(r.Key) == checkpointKey, "record %+v, %v", r, err)
	got, err := DecodeCheckpoint(r.Value)
	expect.That(t, err == nil && reflect.DeepEqual(got, sample()), "got %+v, %v", got, err)
	// A version without checkpoints reads it as the state of a key of which nothing waits.
	st, err := DecodeOrder(r.Value, ScaleOffset)
	expect.That(t, err == nil && st == (keyorder.State{}), "as a state: %+v, %v", st, err)
	m, ok, err := Read(r.Key, r.Value, ScaleOffset)
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
		cp, err := DecodeCheckpoint([]byte(c.value))
		expect.That(t, err != nil && errors.Is(err, ErrNewer) == c.newer, "%v: got %+v, %v", name, cp, err)
	}
}

// A producer may use any key, even the checkpoint's own.
func TestStateKey_S4_14_noKeyIsTheCheckpoint(t *testing.T) {
	t.Parallel()
	for _, k := range []string{"", "k", "\x00", checkpointKey, checkpointKey + "k", checkpointKey + checkpointKey, checkpointKey[:5]} {
		got, ok := KeyOf(OrderKey(k))
		expect.That(t, ok && got == k, "%q became %q, %v", k, got, ok)
	}
	_, ok := KeyOf([]byte(checkpointKey))
	expect.That(t, !ok, "the checkpoint was read as the state of a key")
}

func FuzzCheckpoint(f *testing.F) {
	r := must.Get(sample().Record("s", 0))(f)
	for _, seed := range []string{string(r.Value), `{"format":1,"checkpoint":{"format":1,"at":{"t":{"offset":2}}}}`, `{"format":1}`, `{`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		cp, err := DecodeCheckpoint(value)
		if err != nil {
			return
		}
		r := must.Get(cp.Record("s", 0))(t)
		again, err := DecodeCheckpoint(r.Value)
		must.That(t, err == nil && reflect.DeepEqual(again, cp), "%s became %s: %v", value, r.Value, err)
	})
}

func TestVersionRecord_S0_6_roundTrip(t *testing.T) {
	t.Parallel()
	k := idempotency.HashKey([]byte("k"))
	for _, n := range []Latest{{}, {header.Version{Number: 5, Offset: 3}, 4}, {header.Version{Number: math.MinInt64, Offset: math.MaxInt64}, math.MaxInt64}, {header.Version{Number: math.MaxInt64, Offset: 0}, 0}} {
		r := EncodeVersion("s", 2, k, &n, "1a2b3c4d")
		_, fast := scanVersion(string(r.Value))
		expect.That(t, fast, "%s is not read without package json", r.Value)
		m, ok, err := Read(r.Key, r.Value, "1a2b3c4d")
		expect.That(t, err == nil && ok && m.Lasting && m.Known && m.Key == k && m.Newest == n && r.Partition == 2, "%s: %+v, %t, %v", r.Value, m, ok, err)
		expect.That(t, len(r.Key)+len(r.Value) <= 180, "it takes %d bytes", len(r.Key)+len(r.Value))
	}
	gone := EncodeVersion("s", 2, k, nil, "")
	m, ok, err := Read(gone.Key, gone.Value, "x")
	expect.That(t, err == nil && ok && m.Lasting && !m.Known && gone.Value == nil, "a version that is forgotten: %+v, %t, %v", m, ok, err)
}

func TestVersionRecord_whatNobodyWroteIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "{}", "[]", `{"format":1}x`, `{"format":0,"version":[1,2,3]}`, `{"format":1,"version":[1,-2,3],"scale":"x"}`, `{"format":1,"version":[1,2,-3],"scale":"x"}`,
		`{"format":1,"version":[9223372036854775808,2,3],"scale":"x"}`, `{"format":1,"version":[1,2.5,3],"scale":"x"}`, `{"format":1,"version":[1,2,3],"scale":"x"}}`,
		`{"format":1,"version":[1,,3],"scale":"x"}`, `{"format":1,"version":[1,2,3,],"scale":"x"}`, strings.Repeat("[", 100_000),
	} {
		n, err := DecodeVersion([]byte(text), "x")
		expect.That(t, err != nil, "%.60s: read as %v", text, n)
	}
	_, err := DecodeVersion([]byte(`{"format":2,"version":[1,2,3,4]}`), "x")
	expect.That(t, errors.Is(err, ErrNewer), "a later form: %v", err)
	n, err := DecodeVersion([]byte(`{ "version": [1, 2, 3], "format": 1, "more": true }`), "x")
	expect.That(t, err == nil && n == (Latest{header.Version{Number: 1, Offset: 2}, 3}), "the same with other formatting: %v, %v", n, err)
}

// A producer chooses the keys of features. None of them is read as a version, and no version's key as a feature's.
func TestVersionRecord_noKeyOfAFeatureIsAVersion(t *testing.T) {
	t.Parallel()
	version := string(EncodeVersion("s", 0, idempotency.HashKey([]byte("k")), nil, "").Key)
	for _, k := range []string{version, version[:len(version)-1], version + "x", versionKey, checkpointKey, "v" + version, ""} {
		stored := OrderKey(k)
		_, ok := HashOf(stored)
		expect.That(t, !ok, "the state of key %q has the key of a version", k)
		back, ok := KeyOf(stored)
		expect.That(t, ok && back == k, "%q is read as %q, %t", k, back, ok)
	}
	_, ok := HashOf([]byte(version))
	expect.That(t, ok, "a version is not recognized by its key")
}

func TestStateRecord_S0_6_versionsOfAnotherScaleCountByTheirOffset(t *testing.T) {
	t.Parallel()
	st := keyorder.State{Waiting: 1, Applied: &header.Version{Number: 1000, Offset: 7}, Deleted: 3}
	r := must.Get(EncodeOrder("s", 0, "k", st, "a"))(t)
	for scale, want := range map[Scale]Latest{"a": {header.Version{Number: 1000, Offset: 7}, 3}, "b": {header.Version{Number: math.MinInt64, Offset: 7}, 8}} {
		m, ok, err := Read(r.Key, r.Value, scale)
		expect.That(t, err == nil && ok && !m.Lasting && m.Known && m.Newest == want && m.Key == idempotency.HashKey([]byte("k")), "on scale %s: %+v, %t, %v", scale, m, ok, err)
	}
	m, ok, err := Read([]byte(checkpointKey), []byte("{}"), "a")
	expect.That(t, !ok && err == nil && !m.Known, "a checkpoint has a record key: %+v, %v", m, err)
}

// Everything that is remembered of a key survives.
func TestKeyState_S3_1_isReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for _, st := range []keyorder.State{
		{Next: 2, Last: 5, Tier: 1, Due: due, Waiting: 3, DeadLetters: 2, Applied: &header.Version{Number: -7, Offset: 40}, Deleted: 9},
		{Next: 1, Held: "L", HeldParts: "1-3,17", HeldRemaining: true},
	} {
		r := must.Get(EncodeOrder("s", 0, "k", st, ScaleOffset))(t)
		got := must.Get(DecodeOrder(r.Value, ScaleOffset))(t)
		expect.That(t, reflect.DeepEqual(got, st), "%s was read as %+v", r.Value, got)
	}
	for _, text := range []string{`{"format":2}`, `{"format":1,"held":"L","held_parts":"3-1"}`, `{"format":1,"held":"L","held_parts":"x"}`, `{"format":1,"last":-1}`} {
		st, err := DecodeOrder([]byte(text), ScaleOffset)
		expect.That(t, err != nil, "%s was read as %+v", text, st)
	}
}

// S0-4: checkpoints are read as the engine wrote them; other records of the state topic are not read as checkpoints.
func TestParseCheckpoint_S0_4(t *testing.T) {
	t.Parallel()
	r := must.Get(sample().Record("state", 0))(t)
	got, ok, err := ParseCheckpoint(r)
	expect.That(t, err == nil && ok && reflect.DeepEqual(got, sample()) && got.First() == 1, "%+v, %t, %v", got, ok, err)
	for _, other := range []*kgo.Record{{Key: []byte("k"), Value: r.Value}, {Key: r.Key}, {}} {
		_, ok, err := ParseCheckpoint(other)
		expect.That(t, !ok && err == nil, "%q: %t, %v", other.Key, ok, err)
	}
	_, _, err = ParseCheckpoint(&kgo.Record{Key: r.Key, Value: []byte("{")})
	expect.That(t, err != nil, "a broken checkpoint is read")
}

func TestNewest_joinKnowsBoth(t *testing.T) {
	t.Parallel()
	a, b := Latest{header.Version{Number: 5, Offset: 1}, 9}, Latest{header.Version{Number: 4, Offset: 7}, 3}
	want := (Latest{header.Version{Number: 5, Offset: 1}, 9})
	expect.That(t, a.Join(b) == want && b.Join(a) == want, "%v and %v", a.Join(b), b.Join(a))
}

// Numbers of another scale do not compare: everything in the source up to the newest event is older than it,
// everything after it is newer.
func TestNewest_S0_6_onAnotherScaleTheOffsetDecides(t *testing.T) {
	t.Parallel()
	for _, n := range []Latest{{header.Version{Number: 1000, Offset: 7}, 0}, {header.Version{Number: -3, Offset: 7}, 3}, {header.Version{Number: 1000, Offset: 7}, 8}} {
		expect.That(t, n.On("a", "a") == n && n.On("", "a") == n && n.On("a", "") == n, "%v changes on its own scale, or one that is not known", n)
		other := n.On("a", "b")
		for number := int64(-5); number < 5; number++ {
			for offset := range int64(15) {
				got, want := other.Outdates(header.Version{Number: number, Offset: offset}), offset <= 7
				expect.That(t, got == want, "%v: version %d at offset %d is outdated: %t, want %t", n, number, offset, got, want)
			}
		}
	}
}
