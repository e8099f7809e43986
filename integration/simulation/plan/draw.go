package plan

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Kind is a kind of fault, as a plan sees it.
type Kind struct {
	Name   string
	Weight int // how often it is drawn, relative to the others; 0 uses Share
	// Share is the share of the worlds that have one fault of the kind. It is drawn from a separate stream, so the other
	// faults of a seed stay the same.
	Share float64
	// Draw returns a fault of the kind without its time and instance.
	Draw func(*rand.Rand, Plan) Fault
}

// Draw returns the plan of a seed, with faults of the given kinds.
func Draw(seed uint64, kinds []Kind) Plan {
	r := rand.New(rand.NewPCG(seed, 0x91a4))
	p := Plan{Seed: seed}
	p.Cluster = Cluster{Brokers: 1 + r.IntN(3), Partitions: pick[int32](r, 1, 2, 3, 4)}
	p.Engine = drawEngine(r)
	p.Load = drawLoad(r)
	if chance(r, .02) {
		p.flood(r)
	}
	p.Faults = append(drawFaults(r, p, kinds), drawRare(p, kinds)...)
	slices.SortStableFunc(p.Faults, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return p
}

// tierLists returns the lists of tiers from which plans are drawn. They share some delays, so that a change keeps
// some tiers.
func tierLists() [][]time.Duration {
	return [][]time.Duration{delays(1, 4, 15), delays(2, 8, 60), delays(3), delays(1, 2), delays(5, 20)}
}

func drawEngine(r *rand.Rand) Engine {
	e := Engine{
		Instances: 1 + r.IntN(3), Order: pick(r, retrytopics.Orders()...), MaxAttempts: pick(r, 2, 3, 5), Static: chance(r, .3),
		Sink: chance(r, .5), Trail: chance(r, .3), Versioned: chance(r, .5), Window: time.Hour, Concurrency: pick(r, 1, 4, 16),
		Session: seconds(10 + r.IntN(30)), Transaction: seconds(5 + r.IntN(10)), HeldRecords: pick(r, 0, 100),
		Tiers: pick(r, tierLists()...),
	}
	if e.Order == retrytopics.OrderStrict && chance(r, .3) {
		e.OnDeadLetter = retrytopics.OnDeadLetterHoldKey
	}
	if chance(r, .2) { // versions are remembered nevertheless
		e.Window = 0
	}
	return e
}

func drawLoad(r *rand.Rand) Load {
	l := Load{
		Records: 20 + r.IntN(280), Keys: pick(r, 1, 3, 20, 100), Hard: pick(r, .05, .2, .5),
		Gap: time.Duration(20+r.IntN(200)) * time.Millisecond,
	}
	if chance(r, .1) {
		l.Gap = 0 // all at once
	}
	return l
}

// flood makes far more records wait than a process may hold.
func (p *Plan) flood(r *rand.Rand) {
	p.Cluster.Partitions, p.Engine.HeldRecords, p.Engine.Concurrency = 1+r.Int32N(2), 100, 64
	p.Engine.Instances = 1
	p.Load = Load{Records: 3000, Keys: 3000, Hard: 1, Pad: 2000}
}

// drawFaults spreads faults over the time of the load and some time after it.
func drawFaults(r *rand.Rand, p Plan, kinds []Kind) []Fault {
	all := 0
	for _, k := range kinds {
		all += k.Weight
	}
	if all == 0 {
		return nil
	}
	var faults []Fault
	for range 1 + r.IntN(12) {
		faults = append(faults, place(draw(r, all, kinds).Draw(r, p), r, p))
	}
	return faults
}

// drawRare returns the faults of kinds with a share.
func drawRare(p Plan, kinds []Kind) (faults []Fault) {
	for i, k := range kinds {
		r := rand.New(rand.NewPCG(p.Seed, 0x4a4e<<32|uint64(i)))
		if chance(r, k.Share) {
			f := k.Draw(r, p)
			f.Kind = k.Name
			faults = append(faults, place(f, r, p))
		}
	}
	return faults
}

// place sets the time and the instance of a fault.
func place(f Fault, r *rand.Rand, p Plan) Fault {
	span := max(time.Duration(p.Load.Records)*p.Load.Gap, 10*time.Second) + seconds(20)
	f.At = time.Duration(r.Int64N(int64(span))).Round(time.Millisecond)
	f.For = f.For.Round(time.Millisecond)
	f.Instance = r.IntN(p.Engine.Instances)
	return f
}

func draw(r *rand.Rand, all int, kinds []Kind) Kind {
	n := r.IntN(all)
	for _, k := range kinds {
		if n -= k.Weight; n < 0 {
			if k.Draw == nil {
				k.Draw = func(*rand.Rand, Plan) Fault { return Fault{} }
			}
			draw := k.Draw
			k.Draw = func(r *rand.Rand, p Plan) Fault { f := draw(r, p); f.Kind = k.Name; return f }
			return k
		}
	}
	panic("no kind has a weight")
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func delays(s ...int) []time.Duration {
	out := make([]time.Duration, len(s))
	for i, n := range s {
		out[i] = seconds(n)
	}
	return out
}
