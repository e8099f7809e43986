package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Plan is one world before it is played.
type Plan struct {
	Seed    uint64  `json:"seed"`
	Cluster Cluster `json:"cluster"`
	Engine  Engine  `json:"engine"`
	Load    Load    `json:"load"`
	Faults  []Fault `json:"faults,omitempty"` // by time
}

// Cluster is the Kafka cluster.
type Cluster struct {
	Brokers    int   `json:"brokers"`
	Partitions int32 `json:"partitions"` // of the source, and so of every topic of a shard
}

// Engine is the configuration that all instances begin with.
type Engine struct {
	Instances    int                      `json:"instances"`
	Order        retrytopics.Order        `json:"order"`
	OnDeadLetter retrytopics.OnDeadLetter `json:"on_dead_letter,omitempty"`
	Versioned    bool                     `json:"versioned,omitempty"`    // events have a version of their own
	Window       time.Duration            `json:"window,omitempty"`       // of the dedupe ledger; 0: none
	Tiers        []time.Duration          `json:"tiers"`                  // delays
	MaxAttempts  int                      `json:"max_attempts"`           // of a record in one life
	Static       bool                     `json:"static,omitempty"`       // group membership
	Trail        bool                     `json:"trail,omitempty"`        // links of a chain in each shard
	Sink         bool                     `json:"sink,omitempty"`         // a table beside the output topic
	Session      time.Duration            `json:"session"`                // group session timeout
	Transaction  time.Duration            `json:"transaction"`            // transaction timeout
	Concurrency  int                      `json:"concurrency"`            // handlers side by side
	HeldRecords  int                      `json:"held_records,omitempty"` // limit of records in memory; 0: the engine's default
}

// Kinds of faults that change what is expected.
const (
	KindFailing   = "failing"    // a record may die that its handler would have finished
	KindDeny      = "deny"       // an engine may end for want of a permission
	KindDenyWrite = "deny_write" // the same
	KindClock     = "clock"      // the times of an instance may go back
	KindRecreate  = "recreate"   // what lay unread in the source is gone, and engines end until the new topic is adopted
)

// A deploy of other tiers. Its Count says which.
const (
	KindDeploy  = "deploy"
	DeployTiers = "tiers"
)

// Fault is one thing that goes wrong, or that an operator does. What the fields mean is the kind's business.
type Fault struct {
	Kind     string        `json:"kind"`
	At       time.Duration `json:"at"`                 // since the load began
	For      time.Duration `json:"for,omitempty"`      // until it is over
	Instance int           `json:"instance,omitempty"` // which one it strikes
	Count    int           `json:"count,omitempty"`
	What     string        `json:"what,omitempty"`
}

// Over is when the fault is over.
func (f Fault) Over() time.Duration { return f.At + f.For }

// String is one line of a story.
func (f Fault) String() string {
	parts := []string{fmt.Sprintf("%9s  %s", f.At, f.Kind)}
	add := func(present bool, format string, args ...any) {
		if present {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(true, "i%d", f.Instance)
	add(f.What != "", "%s", f.What)
	add(f.Count != 0, "count %d", f.Count)
	add(f.For != 0, "for %s", f.For)
	return strings.Join(parts, " ")
}

// TierLists are the lists of delays that an instance may have: the first one, and those that are deployed later.
func (p Plan) TierLists() [][]time.Duration {
	lists := [][]time.Duration{p.Engine.Tiers}
	for _, f := range p.Faults {
		if f.Kind == KindDeploy && f.What == DeployTiers {
			lists = append(lists, f.Tiers())
		}
	}
	return lists
}

// Delays are all delays that a tier has at some time, in ascending order.
func (p Plan) Delays() []time.Duration {
	all := slices.Concat(p.TierLists()...)
	slices.Sort(all)
	return slices.Compact(all)
}

// Tiers are the delays that a deploy of other tiers brings.
func (f Fault) Tiers() []time.Duration {
	lists := tierLists()
	return lists[f.Count%len(lists)]
}

// Quiet is when the last fault is over.
func (p Plan) Quiet() (at time.Duration) {
	for _, f := range p.Faults {
		at = max(at, f.Over())
	}
	return at
}

// Has says whether a kind of fault is in the plan.
func (p Plan) Has(kind string) bool {
	return slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Kind == kind })
}

// String is the plan for people.
func (p Plan) String() string {
	e := p.Engine
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d brokers, %d partitions, %d instances\n", p.Seed, p.Cluster.Brokers, p.Cluster.Partitions, e.Instances)
	order := string(e.Order)
	if e.OnDeadLetter != "" {
		order += " (" + string(e.OnDeadLetter) + ")"
	}
	fmt.Fprintf(&b, "order %s, versioned %t, dedupe window %s, tiers %v, %d attempts, sink %t, trail %t\n", order, e.Versioned, e.Window, e.Tiers, e.MaxAttempts, e.Sink, e.Trail)
	fmt.Fprintf(&b, "static %t, session %s, transaction %s, %d handlers, %d held records\n", e.Static, e.Session, e.Transaction, e.Concurrency, e.HeldRecords)
	fmt.Fprintf(&b, "load: %s\n", p.Load)
	for _, f := range p.Faults {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

// Text is the plan for Parse, on one line.
func (p Plan) Text() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // numbers and text
	}
	return string(text)
}

// Parse reads what Text wrote.
func Parse(text string) (Plan, error) {
	var p Plan
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return p, fmt.Errorf("plan: %w", err)
	}
	return p, nil
}
