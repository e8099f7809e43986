package retrytopics

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/keyorder"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func TestVersionRecord_S0_6_roundTrip(t *testing.T) {
	t.Parallel()
	k := idempotency.HashKey([]byte("k"))
	for _, n := range []Latest{{}, {header.Version{Number: 5, Offset: 3}, 4}, {header.Version{Number: math.MinInt64, Offset: math.MaxInt64}, math.MaxInt64}, {header.Version{Number: math.MaxInt64, Offset: 0}, 0}} {
		r := encodeVersion("s", 2, k, &n, "1a2b3c4d")
		_, fast := scanVersion(string(r.Value))
		expect.That(t, fast, "%s is not read without package json", r.Value)
		m, ok, err := ReadRemembered(r.Key, r.Value, "1a2b3c4d")
		expect.That(t, err == nil && ok && m.Lasting && m.Known && m.Key == k && m.Newest == n && r.Partition == 2, "%s: %+v, %t, %v", r.Value, m, ok, err)
		expect.That(t, len(r.Key)+len(r.Value) <= 180, "it takes %d bytes", len(r.Key)+len(r.Value))
	}
	gone := encodeVersion("s", 2, k, nil, "")
	m, ok, err := ReadRemembered(gone.Key, gone.Value, "x")
	expect.That(t, err == nil && ok && m.Lasting && !m.Known && gone.Value == nil, "a version that is forgotten: %+v, %t, %v", m, ok, err)
}

func TestVersionRecord_whatNobodyWroteIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "{}", "[]", `{"format":1}x`, `{"format":0,"version":[1,2,3]}`, `{"format":1,"version":[1,-2,3],"scale":"x"}`, `{"format":1,"version":[1,2,-3],"scale":"x"}`,
		`{"format":1,"version":[9223372036854775808,2,3],"scale":"x"}`, `{"format":1,"version":[1,2.5,3],"scale":"x"}`, `{"format":1,"version":[1,2,3],"scale":"x"}}`,
		`{"format":1,"version":[1,,3],"scale":"x"}`, `{"format":1,"version":[1,2,3,],"scale":"x"}`, strings.Repeat("[", 100_000),
	} {
		n, err := decodeVersion([]byte(text), "x")
		expect.That(t, err != nil, "%.60s: read as %v", text, n)
	}
	_, err := decodeVersion([]byte(`{"format":2,"version":[1,2,3,4]}`), "x")
	expect.That(t, errors.Is(err, ErrNewerState), "a later form: %v", err)
	n, err := decodeVersion([]byte(`{ "version": [1, 2, 3], "format": 1, "more": true }`), "x")
	expect.That(t, err == nil && n == (Latest{header.Version{Number: 1, Offset: 2}, 3}), "the same in other words: %v, %v", n, err)
}

// A producer chooses the keys of features. None of them is taken for a version, and none of a version's for a feature's.
func TestVersionRecord_noKeyOfAFeatureIsAVersion(t *testing.T) {
	t.Parallel()
	version := string(encodeVersion("s", 0, idempotency.HashKey([]byte("k")), nil, "").Key)
	for _, k := range []string{version, version[:len(version)-1], version + "x", versionKey, checkpointKey, "v" + version, ""} {
		stored := stateKeyOf(k)
		_, ok := hashOfVersion(stored)
		expect.That(t, !ok, "the state of key %q has the key of a version", k)
		back, ok := keyOfState(stored)
		expect.That(t, ok && back == k, "%q is read as %q, %t", k, back, ok)
	}
	_, ok := hashOfVersion([]byte(version))
	expect.That(t, ok, "a version is not known by its key")
}

func TestStateRecord_S0_6_versionsOfAnotherScaleCountByTheirOffset(t *testing.T) {
	t.Parallel()
	st := keyorder.State{Waiting: 1, Applied: &header.Version{Number: 1000, Offset: 7}, Deleted: 3}
	r := must.Get(encodeState("s", 0, "k", st, "a"))(t)
	for scale, want := range map[Scale]Latest{"a": {header.Version{Number: 1000, Offset: 7}, 3}, "b": {header.Version{Number: math.MinInt64, Offset: 7}, 8}} {
		m, ok, err := ReadRemembered(r.Key, r.Value, scale)
		expect.That(t, err == nil && ok && !m.Lasting && m.Known && m.Newest == want && m.Key == idempotency.HashKey([]byte("k")), "on scale %s: %+v, %t, %v", scale, m, ok, err)
	}
	m, ok, err := ReadRemembered([]byte(checkpointKey), []byte("{}"), "a")
	expect.That(t, !ok && err == nil && !m.Known, "a checkpoint is about no key: %+v, %v", m, err)
}
