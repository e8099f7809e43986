package retrytopics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// versionRule is what decides about versions.
type versionRule struct {
	outdates func(Latest, header.Version) bool
	after    func(Latest, header.Version, bool) Latest
}

var ownRule = versionRule{Latest.Outdates, Latest.After}

// effect is an event that took effect. The list of them is the truth that Newest sums up.
type effect struct {
	version header.Version
	deletes bool
}

// older says by the whole past whether an event is older than what took effect.
func older(past []effect, v header.Version) bool {
	for _, e := range past {
		if v.Less(e.version) || e.deletes && v.Offset <= e.version.Offset {
			return true
		}
	}
	return false
}

// play lets one key live: events come in any order and some of them again, deletes have the number of the newest event, an event in
// strict order takes effect whatever its version, and now and then the key is remembered by another process. It says where the
// rule and the past disagree first.
func (rule versionRule) play(r *rand.Rand) error {
	var past []effect
	var newest *Latest
	for range 12 {
		v := header.Version{Number: r.Int64N(4) - 1, Offset: r.Int64N(8)}
		deletes := r.IntN(4) == 0
		switch {
		case deletes && newest != nil:
			v.Number = newest.Version.Number
		case deletes:
			v.Number = math.MinInt64
		}
		outdated := newest != nil && rule.outdates(*newest, v)
		if want := older(past, v); outdated != want {
			return fmt.Errorf("after %v, %v is outdated: %t, want %t", past, v, outdated, want)
		}
		if outdated && r.IntN(5) > 0 { // else it is in strict order
			continue
		}
		past = append(past, effect{v, deletes})
		if newest == nil {
			newest = &Latest{Version: v}
		}
		next := rule.after(*newest, v, deletes)
		if r.IntN(3) == 0 {
			back, err := decodeVersion(encodeVersion("t", 0, [12]byte{1}, &next, "x").Value, "x")
			if err != nil {
				return err
			}
			next = back
		}
		newest = &next
	}
	return nil
}

func (rule versionRule) find() (err error, games int) {
	for seed := range uint64(20000) {
		if err := rule.play(rand.New(rand.NewPCG(seed, 72))); err != nil {
			return err, int(seed)
		}
	}
	return nil, 20000
}

// S0-6: what is remembered of a key in three numbers decides as the list of all that ever took effect would.
func TestNewest_S0_6_decidesAsTheWholePast(t *testing.T) {
	t.Parallel()
	err, game := ownRule.find()
	expect.That(t, err == nil, "game %d: %v", game, err)
}

// Each of these is wrong by a little, and the property finds it.
func TestNewest_S0_6_mutantsAreFound(t *testing.T) {
	t.Parallel()
	for name, mutant := range map[string]versionRule{
		"deletes count for nothing": {func(n Latest, v header.Version) bool { return v.Less(n.Version) }, Latest.After},
		"an equal version is older": {func(n Latest, v header.Version) bool { return !n.Version.Less(v) || v.Offset < n.Deleted }, Latest.After},
		"a delete covers one more":  {func(n Latest, v header.Version) bool { return v.Less(n.Version) || v.Offset <= n.Deleted }, Latest.After},
		"numbers alone":             {func(n Latest, v header.Version) bool { return v.Number < n.Version.Number || v.Offset < n.Deleted }, Latest.After},
		"offsets alone":             {func(n Latest, v header.Version) bool { return v.Offset < n.Version.Offset || v.Offset < n.Deleted }, Latest.After},
		"both must be older":        {func(n Latest, v header.Version) bool { return v.Less(n.Version) && v.Offset < n.Deleted }, Latest.After},
		"the last, not the newest":  {Latest.Outdates, func(n Latest, v header.Version, d bool) Latest { return Latest{v, n.After(v, d).Deleted} }},
		"the first, not the newest": {Latest.Outdates, func(n Latest, v header.Version, d bool) Latest { return Latest{n.Version, n.After(v, d).Deleted} }},
		"a delete does not cover itself": {Latest.Outdates, func(n Latest, v header.Version, d bool) Latest {
			return Latest{n.After(v, d).Version, max(0, n.After(v, d).Deleted-1)}
		}},
		"the last delete": {Latest.Outdates, func(n Latest, v header.Version, d bool) Latest {
			if d {
				n.Deleted = 0
			}
			return n.After(v, d)
		}},
		"an event ends a delete": {Latest.Outdates, func(n Latest, v header.Version, d bool) Latest {
			if !d {
				n.Deleted = 0
			}
			return n.After(v, d)
		}},
		"every event is a delete": {Latest.Outdates, func(n Latest, v header.Version, _ bool) Latest { return n.After(v, true) }},
	} {
		err, _ := mutant.find()
		expect.That(t, err != nil, "%s: not found", name)
	}
}

func TestNewest_joinKnowsBoth(t *testing.T) {
	t.Parallel()
	a, b := Latest{header.Version{Number: 5, Offset: 1}, 9}, Latest{header.Version{Number: 4, Offset: 7}, 3}
	want := (Latest{header.Version{Number: 5, Offset: 1}, 9})
	expect.That(t, a.Join(b) == want && b.Join(a) == want, "%v and %v", a.Join(b), b.Join(a))
}

// Numbers of another scale say nothing: what lay in the source up to the newest event is older than it, all behind it is newer.
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
