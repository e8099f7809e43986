//go:build !race

package retrytopics

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// A scale is the size of an exploration. It includes the scales before it.
type scale struct {
	name     string
	events   int // of the histories of three keys and two crashes
	failures int // attempts that fail in each of them
	few      int // events of the other histories
	most     int // states of a history; beyond it something grows without bound
}

// scales are the values of SWITCHBACK_TEST_HISTORIES. A plain `go test` takes 2 CPU seconds for small, and a mutant at most 7. The
// gate takes 20 for gate, a nightly run 65 for ci. The scale all takes hours.
var scales = []scale{{"small", 3, 1, 2, 50_000}, {"mutants", 3, 1, 3, 50_000}, {"gate", 4, 1, 3, 500_000}, {"ci", 5, 1, 3, 500_000}, {"all", 5, 3, 4, 50_000_000}}

var (
	oneTier   = []policy.Tier{{Topic: "in.retry-1s", Delay: time.Second}}
	shortLong = []policy.Tier{{Topic: "in.retry-1s", Delay: time.Second}, {Topic: "in.retry-4s", Delay: 4 * time.Second}}
	allFaults = []stepKind{stepCrash, stepExpire, stepRebalance, stepAbort, stepRewind, stepOverrun}
)

// plans gives what is explored.
func plans(s scale) []plan {
	crash := []stepKind{stepCrash}
	none, latest, strict := Ordering{Mode: OrderNone}, Ordering{Mode: OrderLatestWins}, Ordering{Mode: OrderStrict}
	hold := Ordering{Mode: OrderStrict, OnDeadLetter: OnDeadLetterHoldKey}
	long, short := patterns(s.events, 3), patterns(s.few, 2)
	all := []plan{
		{name: "gaps", histories: patterns(s.few+2, 3), keys: 3, tiers: oneTier, order: none, faults: 2, kinds: crash},
		{name: "markers", histories: patterns(s.few, 3), keys: 3, tiers: oneTier, order: none, faults: 2, failures: 2, kinds: crash, markers: true, mixed: true},
		{name: "little metadata", histories: patterns(s.few+1, 2), keys: 2, tiers: oneTier, order: none, faults: 1, failures: 1, kinds: crash, markers: true, room: 2},
		{name: "hardly any metadata", histories: patterns(s.few+1, 3), keys: 3, tiers: oneTier, order: none, faults: 2, kinds: crash, room: 1},
		{name: "long waits", histories: patterns(2, 2), keys: 2, tiers: shortLong, order: strict, faults: 1, failures: 2, kinds: crash, slow: true},
		{name: "latest wins, all faults", histories: short, keys: 2, tiers: oneTier, order: latest, faults: 2, failures: 1, kinds: allFaults},
		{name: "strict, all faults", histories: short, keys: 2, tiers: oneTier, order: strict, faults: 1, failures: 2, kinds: allFaults, markers: true},
		{name: "repetitions", histories: each(short, repeating), keys: 2, tiers: oneTier, order: latest, dedupe: true, faults: 2, failures: 1, kinds: crash},
		{name: "repetitions, all faults", histories: each(short, repeating), keys: 2, tiers: oneTier, order: latest, dedupe: true, faults: 1, failures: 1, kinds: allFaults},
		{name: "strict, repetitions", histories: each(short, repeating), keys: 2, tiers: oneTier, order: strict, dedupe: true, faults: 1, failures: 1, kinds: crash},
		{name: "versions", histories: each(patterns(s.few, 1), versioned), keys: 1, tiers: oneTier, order: latest, dedupe: true, versioned: true, faults: 1, failures: 1, kinds: crash},
		{name: "versions without a ledger", histories: each(patterns(s.few, 1), versioned), keys: 1, tiers: oneTier, order: latest, versioned: true, faults: 1, failures: 1, kinds: allFaults},
		{name: "a dead letter holds its key", histories: short, keys: 2, tiers: oneTier, order: hold, faults: 1, failures: 2, kinds: crash, mortal: 1},

		{name: "no order", histories: long, keys: 3, tiers: oneTier, order: none, faults: 2, failures: s.failures, kinds: crash},
		{name: "latest wins", histories: long, keys: 3, tiers: oneTier, order: latest, faults: 2, failures: s.failures, kinds: crash},
		{name: "strict", histories: long, keys: 3, tiers: oneTier, order: strict, faults: 2, failures: s.failures, kinds: crash},
	}
	for i := range all {
		all[i].most = s.most
	}
	return all
}

// each gives all that vary makes of the histories.
func each(histories []history, vary func(history) []history) (all []history) {
	for _, h := range histories {
		all = append(all, vary(h)...)
	}
	return all
}
