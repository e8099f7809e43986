package topics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// HeaderRoom is how much larger the message limit of tiers and DLQ must be than the source's, so that a maximal record
// fits with its control headers.
const HeaderRoom = 16 << 10

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

// Create creates the missing ones of tiers, DLQ, state topic and, if the configuration needs it, ledger. They get the
// partition count and replication factor of the source topic, which must exist. Create returns when the cluster shows
// them. Tiers and DLQ keep their records indefinitely: a waiting record must not expire, and the engine deletes
// finished records from a tier. It changes no existing topic.
func (c *Cluster) Create(ctx context.Context, adm *kadm.Client) error {
	all := append(c.Records(), c.Memory()...)
	if !slices.Contains(all, c.State) {
		all = append(all, c.State) // for the checkpoints
	}
	if _, err := c.await(ctx, adm, all[:1], missingPatience); err != nil { // the source may be new too
		return fmt.Errorf("create topics: %w", err)
	}
	details, err := adm.ListTopics(ctx, all...)
	if err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	source := details[c.Source]
	if !present(details, c.Source) {
		return fmt.Errorf("create topics: the source topic %s does not exist: create it first", c.Source)
	}
	most, _ := c.readLimits(ctx, adm, all[:1]).Of(c.Source)
	limit := strconv.Itoa(most + HeaderRoom)
	for _, name := range all[1:] {
		if present(details, name) {
			continue
		}
		_, err := adm.CreateTopic(ctx, int32(len(source.Partitions)), int16(len(source.Partitions[0].Replicas)), c.config(name, limit), name)
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) { // another instance that starts at the same time was faster
			return fmt.Errorf("create topic %s: %w", name, err)
		}
	}
	if details, err = c.await(ctx, adm, all, createdPatience); err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	for _, name := range all {
		if !present(details, name) {
			return fmt.Errorf("create topics: %s was created and is still invisible after %v; is a broker overloaded?", name, createdPatience)
		}
	}
	return nil
}

// config returns the settings with which a topic is created. limit is the message limit of tiers and DLQ.
func (s *Set) config(name, limit string) map[string]*string {
	switch name {
	case s.State: // every transaction writes to it, and a start reads everything that is not compacted yet
		return map[string]*string{"cleanup.policy": new("compact"), "segment.bytes": new("8388608"), "delete.retention.ms": new("600000")}
	case s.Heads:
		return map[string]*string{"cleanup.policy": new("compact")}
	case s.Ledger:
		keep := strconv.FormatInt(s.Window.Milliseconds(), 10)
		return map[string]*string{"cleanup.policy": new("delete"), "retention.ms": &keep}
	}
	return map[string]*string{
		"cleanup.policy": new("delete"), "retention.ms": new("-1"), "retention.bytes": new("-1"), "max.message.bytes": &limit,
	}
}
