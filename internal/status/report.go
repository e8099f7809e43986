package status

import (
	"time"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// Report is the state of a pipeline.
type Report struct {
	Flow
	Instances []Instance `json:"instances"`
	// DeadLetters counts the pending dead letters.
	DeadLetters DeadLetters `json:"dead_letters"`
}

// Flow is how records move through a pipeline, according to its topics and its consumer group.
type Flow struct {
	Pipeline   string               `json:"pipeline"`
	State      Order                `json:"state"`
	Members    []Member             `json:"members"`         // of the consumer group; empty: no instance is running
	Mixed      bool                 `json:"mappings_differ"` // among the members
	Batches    []Batch              `json:"quarantined_batches"`
	Partitions []kafka.PartitionLag `json:"partitions"` // of the source
	Lag        int64                `json:"lag"`        // of all partitions
	Tiers      []Tier               `json:"tiers"`      // in the order of their delays, then the former tiers
	// LagSince is the oldest timestamp among the next records of all partitions of the source. It is nil without a lag,
	// and if it is unknown.
	LagSince   *time.Time `json:"lag_since,omitempty"`
	LagUnknown string     `json:"lag_since_unknown,omitempty"` // why

	source string
	waits  [][]kafka.PartitionLag // in Tiers
}

// DeadLetters counts the pending dead letters.
type DeadLetters struct {
	Pending   int        `json:"pending"`           // no operator has decided about them
	Escalated int        `json:"escalated"`         // marked for a person's decision
	Replaying int        `json:"replaying"`         // reinjected, and not finished
	Oldest    *time.Time `json:"oldest,omitempty"`  // when the oldest pending or escalated record became a dead letter
	Unknown   string     `json:"unknown,omitempty"` // why they could not be counted
}

// Order is the last order for the pipeline: by whom, and why. Only State is set if nothing was ever ordered.
type Order struct {
	State  control.Phase `json:"state"`
	Reason string        `json:"reason,omitempty"`
	Code   control.Code  `json:"code,omitempty"`
	By     string        `json:"by,omitempty"`
	At     *time.Time    `json:"at,omitempty"`
	// GatesOff is until when no rate gate pauses the pipeline; nil once that time is over.
	GatesOff *time.Time `json:"gates_off_until,omitempty"`
}

// Member is an instance in the consumer group.
type Member struct {
	Name       string  `json:"name"`       // of a static member its instance, otherwise the client ID
	Host       string  `json:"host"`       // as the broker sees it
	Partitions []int32 `json:"partitions"` // of the source
	Mapping    string  `json:"mapping"`    // fingerprint of the mapping; "" if the instance announces none
	Software   string  `json:"software,omitempty"`
}

// Batch is a quarantined batch.
type Batch struct {
	ID string `json:"id"`
	Order
}

// Tier is one retry topic.
type Tier struct {
	Topic   string `json:"topic"`
	Waiting int64  `json:"waiting"`          // upper bound
	Former  bool   `json:"former,omitempty"` // not configured; the group drains its own records
	// Due is when the first of the waiting records is due; nil if unknown.
	Due    *time.Time `json:"next_due,omitempty"`
	Unread bool       `json:"unread,omitempty"` // a former tier of which the group has consumed nothing, so it may belong to another pipeline
}

// Instance is what one instance reports about itself.
type Instance struct {
	Metrics      string       `json:"metrics"`         // its address
	Error        string       `json:"error,omitempty"` // why it reports nothing about the pipeline
	Paused       bool         `json:"paused"`
	Dependencies []Dependency `json:"dependencies"`
}

// Dependency is a service that an instance depends on, if there is anything to report.
type Dependency struct {
	Name        string `json:"name"`
	CircuitOpen bool   `json:"circuit_open"`
	HalfOpen    bool   `json:"half_open,omitempty"` // single requests probe
	Deferred    int64  `json:"deferred_records"`
}

func orderOf(s control.State) Order {
	o := Order{State: s.Phase, Reason: s.Reason, Code: s.Code, By: s.By}
	if !s.At.IsZero() {
		o.At = &s.At
	}
	if until := s.GatesOffUntil(time.Now()); !until.IsZero() {
		o.GatesOff = &until
	}
	return o
}
