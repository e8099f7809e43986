package topics

import (
	"slices"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Set names the topics of a pipeline, as its configuration does.
type Set struct {
	Source     string
	Tiers      []policy.Tier
	TierPrefix string // before the delay in the name of every tier
	DLQ        string
	Outputs    []string // of the handler
	Journal    []string // further topics that are never tiers

	State   string // topic of orders, versions and checkpoints
	Ordered bool   // the state topic is needed
	Ledger  string
	Window  time.Duration // how long the ledger keeps its records; 0: it is not used
	Heads   string        // topic of the heads of hash chains; "": not used
}

// Records lists the source, the tiers and the DLQ, in this order.
func (s *Set) Records() []string {
	names := []string{s.Source}
	for _, t := range s.Tiers {
		names = append(names, t.Topic)
	}
	return append(names, s.DLQ)
}

// Memory lists the topics in which the engine keeps orders, checkpoints, the ledger and the heads of hash chains.
func (s *Set) Memory() []string {
	var names []string
	if s.Ordered {
		names = append(names, s.State)
	}
	if s.Window > 0 {
		names = append(names, s.Ledger)
	}
	if s.Heads != "" {
		names = append(names, s.Heads)
	}
	return names
}

// Written lists the topics to which an instance may write, with the state topic even if it is not needed.
func (s *Set) Written() []string {
	return slices.Concat(s.Records()[1:], s.Memory(), s.Outputs, []string{s.State})
}

// Consumed lists the source, the tiers and the former tiers, in this order.
func (s *Set) Consumed(former []Former) []string {
	names := s.Records()[:len(s.Tiers)+1]
	for _, f := range former {
		names = append(names, f.Topic)
	}
	return names
}
