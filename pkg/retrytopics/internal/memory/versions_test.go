package memory

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// game ends attempts, commits and aborts transactions, repeats attempts and moves the partition to another instance. It
// compares the versions of the partition with a map.
type game struct {
	room      int // for versions
	forgotten Forgotten
	p         *Partition
	state     []*kgo.Record // the state topic
	open      []*Change     // of attempts that ended
	now       map[string]statetopic.Latest
	base      map[string]statetopic.Latest // committed
	next      int64
}

func (g *game) attempt(r *rand.Rand) {
	key := fmt.Sprint(r.IntN(6))
	hash := idempotency.HashKey([]byte(key))
	before := g.p.Past([]byte(key), hash, time.Now())
	c := &Change{Hash: hash, versioned: true, older: before.kept, kept: before.keeps}
	g.next++
	c.latest = statetopic.Latest{Version: header.Version{Number: r.Int64N(5), Offset: g.next}}
	if before.keeps {
		c.latest = before.kept.After(c.latest.Version, r.IntN(4) == 0)
	}
	g.p.note(c)
	g.open = append(g.open, c)
	g.now[key] = c.latest
}

// commit ends a transaction with the first open changes.
func (g *game) commit(t *testing.T, n int, aborted bool) {
	t.Helper()
	records := must.Get(g.p.Encode(g.open[:n]))(t)
	tombstones, of := g.p.EncodeRemovals()
	records = append(records, tombstones...)
	if aborted {
		return // its results go into the next transaction
	}
	for _, c := range g.open[:n] {
		for k := range g.now {
			if idempotency.HashKey([]byte(k)) == c.Hash {
				g.base[k] = c.latest
			}
		}
	}
	g.p.Commit(g.open[:n])
	g.p.Removed(of)
	g.open = g.open[n:]
	g.state = append(g.state, records...)
}

func (g *game) takeOver(t *testing.T) {
	t.Helper()
	g.p = New(0, Settings{StateTopic: "in.state", Scale: "x", Versions: true, MaxVersions: g.room, Forgotten: &g.forgotten})
	for _, r := range g.state {
		must.That(t, must.Get(g.p.RestoreState(r.Key, r.Value))(t), "a record of no key")
	}
	g.p.Open()
	g.open, g.now = nil, maps.Clone(g.base)
}

// S0-6: with more keys than there is room for, memory stays bounded, the state topic is reduced to it, and the remaining
// versions are right.
func TestPartition_S0_6_withoutRoomWhatIsKnownIsTrue(t *testing.T) {
	t.Parallel()
	const room = 3
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 15))
		g := &game{room: room, now: map[string]statetopic.Latest{}, base: map[string]statetopic.Latest{}}
		g.takeOver(t)
		for step := range 200 {
			switch n := r.IntN(20); {
			case n < 10:
				g.attempt(r)
			case n < 19:
				g.commit(t, len(g.open), n == 18)
			default:
				g.takeOver(t)
			}
			n := g.p.Size().Versions
			must.That(t, n <= room, "seed %d, step %d: %d keys are remembered", seed, step, n)
			for k, want := range g.now {
				p := g.p.Past([]byte(k), idempotency.HashKey([]byte(k)), time.Now())
				must.That(t, !p.keeps || p.kept == want, "seed %d, step %d: key %s is remembered as %v, and %v took effect", seed, step, k, p.kept, want)
			}
		}
		g.commit(t, len(g.open), false)
		kept := g.kept()
		must.That(t, kept <= room && g.forgotten.Total() != 0, "seed %d: the state topic has %d keys, %d were forgotten", seed, kept, g.forgotten.Total())
	}
}

// kept counts the versions in the state topic.
func (g *game) kept() int {
	last := map[string]bool{}
	for _, r := range g.state {
		last[string(r.Key)] = r.Value != nil
	}
	n := 0
	for _, known := range last {
		if known {
			n++
		}
	}
	return n
}

// effect is an event that took effect. The list of them is the truth that statetopic.Latest summarizes.
type effect struct {
	version header.Version
	deletes bool
}

// older decides from the complete history whether an event is older than what took effect.
func older(past []effect, v header.Version) bool {
	for _, e := range past {
		if v.Less(e.version) || e.deletes && v.Offset <= e.version.Offset {
			return true
		}
	}
	return false
}

// playVersions simulates the history of one key: events come in any order and some of them twice, deletes have the
// number of the newest event, an event in strict order takes effect whatever its version, and occasionally another
// process restores the key.
func playVersions(t *testing.T, r *rand.Rand) {
	t.Helper()
	var past []effect
	var newest *statetopic.Latest
	for range 12 {
		v := header.Version{Number: r.Int64N(4) - 1, Offset: r.Int64N(8)}
		deletes := r.IntN(4) == 0
		switch {
		case deletes && newest != nil:
			v.Number = newest.Version.Number
		case deletes:
			v.Number = math.MinInt64
		}
		outdated := newest != nil && newest.Outdates(v)
		must.That(t, outdated == older(past, v), "after %v, %v is outdated: %t", past, v, outdated)
		if outdated && r.IntN(5) > 0 { // otherwise it is in strict order
			continue
		}
		past = append(past, effect{v, deletes})
		if newest == nil {
			newest = &statetopic.Latest{Version: v}
		}
		next := newest.After(v, deletes)
		if r.IntN(3) == 0 {
			next = must.Get(statetopic.DecodeVersion(statetopic.EncodeVersion("t", 0, [12]byte{1}, &next, "x").Value, "x"))(t)
		}
		newest = &next
	}
}

// S0-6: the three numbers that are remembered of a key lead to the same decision as the list of all effective events.
func TestLatest_S0_6_decidesAsTheWholePast(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20000) {
		playVersions(t, rand.New(rand.NewPCG(seed, 72)))
	}
}
