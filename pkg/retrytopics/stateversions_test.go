package retrytopics

import (
	"context"
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

// shardGame lets attempts end, transactions commit and abort, records be attempted again and instances take over, and holds the
// versions of a partition against a map.
type shardGame struct {
	e     *Engine
	sh    *partitionState
	state []*kgo.Record // the state topic
	open  []*change     // of attempts that ended
	now   map[string]statetopic.Latest
	base  map[string]statetopic.Latest // committed
	next  int64
}

func (g *shardGame) attempt(r *rand.Rand) {
	key := fmt.Sprint(r.IntN(6))
	hash := idempotency.HashKey([]byte(key))
	before := g.sh.past([]byte(key), hash, time.Now())
	c := &change{hash: hash, versioned: true, older: before.kept, kept: before.keeps}
	g.next++
	c.latest = statetopic.Latest{Version: header.Version{Number: r.Int64N(5), Offset: g.next}}
	if before.keeps {
		c.latest = before.kept.After(c.latest.Version, r.IntN(4) == 0)
	}
	g.sh.note(c)
	g.open = append(g.open, c)
	g.now[key] = c.latest
}

// commit ends a transaction with the first of the open changes.
func (g *shardGame) commit(n int, aborted bool) {
	st := &staged{pushed: map[*partitionState]int{}}
	records := append(g.e.versionRecords(g.sh, g.open[:n]), g.e.removals(st, g.sh)...)
	if aborted {
		return // its results go into the next one
	}
	for _, c := range g.open[:n] {
		for k := range g.now {
			if idempotency.HashKey([]byte(k)) == c.hash {
				g.base[k] = c.latest
			}
		}
	}
	g.sh.commit(g.open[:n])
	g.sh.removed(st.pushed[g.sh])
	g.open = g.open[n:]
	g.state = append(g.state, records...)
}

func (g *shardGame) rewind() {
	g.sh = g.sh.successor()
	g.open, g.now = nil, maps.Clone(g.base)
}

func (g *shardGame) takeOver(t *testing.T) {
	g.sh = g.e.newState(0)
	for _, r := range g.state {
		must.Do(t, g.sh.restoreState(r, g.e.cfg.scale()))
	}
	g.sh.open()
	g.open, g.now = nil, maps.Clone(g.base)
}

func (g *shardGame) check(t *testing.T, seed uint64, step int) {
	t.Helper()
	for k, want := range g.now {
		p := g.sh.past([]byte(k), idempotency.HashKey([]byte(k)), time.Now())
		must.That(t, p.keeps && p.kept == want, "seed %d, step %d: key %s is known as %v (%t), want %v", seed, step, k, p.kept, p.keeps, want)
	}
	must.Equal(t, g.sh.latest.size(), len(g.now), "seed", seed, "step", step, "keys are known")
}

// S0-6, S3-1: the versions of a partition are those of what is committed and of what has ended since, whatever aborts, is made again, or
// moves to another instance.
func TestShard_S0_6_S3_1_versionsAreThoseOfWhatCounts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 14))
		e := versioning(t, 100)
		g := &shardGame{e: e, now: map[string]statetopic.Latest{}, base: map[string]statetopic.Latest{}}
		g.takeOver(t)
		for step := range 200 {
			switch n := r.IntN(20); {
			case n < 12:
				g.attempt(r)
			case n < 17:
				g.commit(r.IntN(len(g.open)+1), n == 16)
			case n < 19:
				g.rewind()
			default:
				g.takeOver(t)
			}
			g.check(t, seed, step)
		}
	}
}

// S0-6: with more keys than there is room for, memory stays bounded, the state topic is cut to it, and what is still known is true.
func TestShard_S0_6_withoutRoomWhatIsKnownIsTrue(t *testing.T) {
	t.Parallel()
	const room = 3
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 15))
		g := &shardGame{e: versioning(t, room), now: map[string]statetopic.Latest{}, base: map[string]statetopic.Latest{}}
		g.takeOver(t)
		for step := range 200 {
			switch n := r.IntN(20); {
			case n < 10:
				g.attempt(r)
			case n < 19:
				g.commit(len(g.open), n == 18)
			default:
				g.takeOver(t)
			}
			n := g.sh.latest.size()
			must.That(t, n <= room, "seed %d, step %d: %d keys are known", seed, step, n)
			for k, want := range g.now {
				p := g.sh.past([]byte(k), idempotency.HashKey([]byte(k)), time.Now())
				must.That(t, !p.keeps || p.kept == want, "seed %d, step %d: key %s is known as %v, and %v took effect", seed, step, k, p.kept, want)
			}
		}
		g.commit(len(g.open), false)
		kept := g.kept()
		must.That(t, kept <= room && g.e.forgotten.total() != 0, "seed %d: the state topic knows %d keys, %d were forgotten", seed, kept, g.e.forgotten.total())
	}
}

// kept counts the versions in the state topic.
func (g *shardGame) kept() int {
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

func versioning(t testing.TB, maxKeys int) *Engine {
	t.Helper()
	e, err := New(Config{
		Brokers: []string{"none"}, Source: "in", Group: "g", Membership: Membership{Instance: "i"},
		Ordering: Ordering{Mode: OrderLatestWins, Versioned: true, Versions: Versions{MaxKeys: maxKeys}},
		Handler:  func(context.Context, *Record) (Result, error) { return Result{}, nil },
	})
	must.That(t, err == nil, "%v", err)
	return e
}

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

// playVersions lets one key live: events come in any order and some of them again, deletes have the number of the newest event, an event in
// strict order takes effect whatever its version, and now and then the key is remembered by another process.
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
		if outdated && r.IntN(5) > 0 { // else it is in strict order
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

// S0-6: what is remembered of a key in three numbers decides as the list of all that ever took effect would.
func TestNewest_S0_6_decidesAsTheWholePast(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20000) {
		playVersions(t, rand.New(rand.NewPCG(seed, 72)))
	}
}
