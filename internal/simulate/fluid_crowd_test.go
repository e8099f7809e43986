package simulate

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// Merging changes neither how much waits for which attempt nor when it became due on average, and the lateness of no record by
// more than the share that it was allowed to.
func TestMerged_keepsAmountsAndIsOffByItsGrainAtTheMost(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	const now, states = 5000, 3
	for _, grain := range []float64{finestMerge, 1.0 / 64, 1.0 / 8, 1} {
		var all []cohort
		for at := range now {
			all = append(all, newCohort(at, random.IntN(states), random.ExpFloat64()))
		}
		amounts, moments := totals3(all)
		out := merged(all, now, grain)
		for s := range states {
			a, m := totals3(out)
			if math.Abs(a[s]-amounts[s]) > 1e-12*amounts[s] || math.Abs(m[s]-moments[s]) > 1e-12*moments[s] {
				t.Errorf("grain %v, state %d: %v due at %v in sum, before %v at %v", grain, s, a[s], m[s], amounts[s], moments[s])
			}
		}
		for _, c := range out {
			if span, late := float64(c.to-c.from), float64(now-c.to+1); span > grain*late || c.at < float64(c.from) || c.at > float64(c.to) {
				t.Fatalf("grain %v: %+v spans %v, %v late", grain, c, span, late)
			}
		}
		if grain >= 1.0/64 && len(out) > now/2 {
			t.Errorf("grain %v: %d cohorts left of %d", grain, len(out), now)
		}
	}
}

func totals3(all []cohort) (amounts, moments [3]float64) {
	for _, c := range all {
		amounts[c.state] += c.amount
		moments[c.state] += c.amount * c.at
	}
	return amounts, moments
}

// However long a backlog stands, few cohorts stand for it, and none of it gets lost. The work of a step is bounded with them.
func TestFluid_S0_12_aBacklogThatNeverDrainsIsFewCohorts(t *testing.T) {
	t.Parallel()
	for name, c := range worst() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := readyFluid(t, system(t, c.pipeline, c.policy), c.text)
			most := 0
			for !f.done() {
				f.tick()
				pools := len(f.freed.dues.cohorts)
				for i := range f.held {
					pools += len(f.held[i].dues.cohorts)
				}
				if limit := mostInPool * (1 + len(f.held)); pools > limit {
					t.Fatalf("%v after the start %d cohorts are or were held; more than %d", f.now, pools, limit)
				}
				if most = max(most, len(f.ready.cohorts)); most > max(mostInOrder, 2*len(f.kernels.states)) {
					t.Fatalf("%v after the start %d cohorts are due", f.now, most)
				}
			}
			if f.tooMuch() {
				t.Errorf("%d is more work than is done in steps of %v", f.work, f.step)
			}
			if sum := f.rec.total.delivered + f.rec.total.dead + f.left(); math.Abs(sum-f.rec.total.arrived) > 1e-9*f.rec.total.arrived {
				t.Errorf("%v records, %v accounted for", f.rec.total.arrived, sum)
			}
		})
	}
}

func readyFluid(t testing.TB, sys System, text string) *fluid {
	t.Helper()
	s, err := ParseScenario("scenario.yaml", []byte(text), sys)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(sys, s)
	return newFluid(w, stepOf(w))
}

// Merged in twenty minutes as much as it is in two days, each scenario is what it is when nothing is merged: the same records
// arrive, are delivered and die within 2 %, and are late by the same within 10 %.
func TestFluid_S0_12_mergingChangesLittle(t *testing.T) {
	t.Parallel()
	for name, c := range worst() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := system(t, c.pipeline, c.policy)
			run := func(inOrder, inPool int) Report {
				f := readyFluid(t, sys, strings.ReplaceAll(c.text, "24h", "15m"))
				f.ready.most = inOrder
				for i := range f.held {
					f.held[i].dues.most = inPool
				}
				f.freed.dues.most = inPool
				for f.now < 20*time.Minute && !f.done() {
					f.tick()
				}
				return f.report()
			}
			merged, whole := run(1024, 32), run(math.MaxInt, math.MaxInt)
			if whole.Lateness.MayBeOff != 0 || merged.Records != whole.Records {
				t.Fatalf("%v of %v records, merged by %v", merged.Records, whole.Records, whole.Lateness.MayBeOff)
			}
			near := func(what string, a, b, share, slack float64) {
				t.Helper()
				if math.Abs(a-b) > share*math.Max(a, b)+slack {
					t.Errorf("%s: merged %v, whole %v", what, a, b)
				}
			}
			few := 1e-9 * whole.Records
			near("delivered", merged.Delivered, whole.Delivered, 0.02, few)
			near("dead letters", merged.DeadLettered, whole.DeadLettered, 0.02, few)
			near("retries", merged.Retries, whole.Retries, 0.02, few)
			near("unfinished", merged.Unfinished, whole.Unfinished, 0.02, few)
			near("requests", merged.Providers[0].Requests, whole.Providers[0].Requests, 0.02, few)
			near("half are late by", float64(merged.Lateness.P50), float64(whole.Lateness.P50), 0.1, 0.2)
			near("1 of 100 is late by", float64(merged.Lateness.P99), float64(whole.Lateness.P99), 0.1, 0.2)
		})
	}
}
