package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Plan describes one world.
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
	Partitions int32 `json:"partitions"` // of the source, and therefore of every topic that is partitioned like it
}

// Engine is the initial configuration of all instances.
type Engine struct {
	Instances    int                      `json:"instances"`
	Order        retrytopics.Order        `json:"order"`
	OnDeadLetter retrytopics.OnDeadLetter `json:"on_dead_letter,omitempty"`
	Versioned    bool                     `json:"versioned,omitempty"`    // events have a version property
	Window       time.Duration            `json:"window,omitempty"`       // of the dedupe ledger; 0 for none
	Tiers        []time.Duration          `json:"tiers"`                  // delays
	MaxAttempts  int                      `json:"max_attempts"`           // of a record in one life
	Static       bool                     `json:"static,omitempty"`       // group membership
	Trail        bool                     `json:"trail,omitempty"`        // a hash chain in each partition
	Sink         bool                     `json:"sink,omitempty"`         // a table in addition to the output topic
	Session      time.Duration            `json:"session"`                // session timeout of the group
	Transaction  time.Duration            `json:"transaction"`            // transaction timeout
	Concurrency  int                      `json:"concurrency"`            // concurrent handlers
	HeldRecords  int                      `json:"held_records,omitempty"` // limit of records in memory; 0 for the engine's default
}

// Kinds of faults that change the expectations.
const (
	KindFailing   = "failing"    // a record may become a dead letter although its handler would have finished it
	KindDeny      = "deny"       // an engine may end because a permission is missing
	KindDenyWrite = "deny_write" // the same
	KindClock     = "clock"      // the times of an instance may go back
	KindRecreate  = "recreate"   // unread records of the source are lost, and engines stop until the new topic is adopted
)

// A deployment of other tiers. Its Count selects them.
const (
	KindDeploy  = "deploy"
	DeployTiers = "tiers"
)

// Fault is one fault, or one action of an operator. The kind defines the meaning of the fields.
type Fault struct {
	Kind     string        `json:"kind"`
	At       time.Duration `json:"at"`                 // since the load began
	For      time.Duration `json:"for,omitempty"`      // duration
	Instance int           `json:"instance,omitempty"` // the instance that it affects
	Count    int           `json:"count,omitempty"`
	What     string        `json:"what,omitempty"`
}

// Over returns the time at which the fault ends.
func (f Fault) Over() time.Duration { return f.At + f.For }

// String returns one line for the story.
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

// TierLists returns the lists of delays of all deployments, the first one first.
func (p Plan) TierLists() [][]time.Duration {
	lists := [][]time.Duration{p.Engine.Tiers}
	for _, f := range p.Faults {
		if f.Kind == KindDeploy && f.What == DeployTiers {
			lists = append(lists, f.Tiers())
		}
	}
	return lists
}

// Delays returns the delays of all tiers of all deployments, in ascending order.
func (p Plan) Delays() []time.Duration {
	all := slices.Concat(p.TierLists()...)
	slices.Sort(all)
	return slices.Compact(all)
}

// Tiers returns the delays of a deployment with other tiers.
func (f Fault) Tiers() []time.Duration {
	lists := tierLists()
	return lists[f.Count%len(lists)]
}

// FaultsEnd returns the time at which the last fault ends.
func (p Plan) FaultsEnd() (at time.Duration) {
	for _, f := range p.Faults {
		at = max(at, f.Over())
	}
	return at
}

// Has reports whether the plan has a kind of fault.
func (p Plan) Has(kind string) bool {
	return slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.Kind == kind })
}

// String returns the plan for people.
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

// Text returns the plan on one line, for Parse.
func (p Plan) Text() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // only numbers and text
	}
	return string(text)
}

// Parse parses the result of Text.
func Parse(text string) (Plan, error) {
	var p Plan
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return p, fmt.Errorf("plan: %w", err)
	}
	return p, nil
}
