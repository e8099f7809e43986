package retrytopics

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// given reports conflicts that are no longer visible once the defaults are filled in.
func (c Config) given() error {
	if c.Unknown != "" && c.Retries.Classify != nil {
		return fmt.Errorf("Unknown is %q, but Retries.Classify alone decides about unknown errors: set it there, in classify.Options.Unknown", c.Unknown)
	}
	return nil
}

// validate reports every fault at once, of a Config with its defaults.
func (c Config) validate() error {
	faults := append(append([]error{c.Retries.Policies().Faults()}, c.Ordering.faults()...), c.Dedupe.faults()...)
	faults = append(faults, c.Journal.HashChain.faults(c.Delivery)...)
	add := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	add(c.Source == "", "Source is empty: name the topic to consume")
	add(c.Group == "", "Group is empty: name the consumer group")
	add(c.Handler == nil, "Handler is nil")
	add(c.Membership.Instance == "", "Membership.Instance is empty and the host has no name: give each instance a stable one")
	add(len(c.Brokers) == 0 && len(c.Client.Options) == 0, "Brokers is empty")
	add(c.Delivery != ExactlyOnce && c.Delivery != AtLeastOnce, "Delivery %q is none of %v", c.Delivery, Deliveries())
	add(!slices.Contains(unknowns(), c.Unknown), "Unknown %q is none of %v", c.Unknown, unknowns())
	faults = append(append(faults, c.Limits.faults()...), c.Timing.faults(c.Membership)...)
	return errors.Join(append(faults, c.topicFaults()...)...)
}

// unknowns returns the classes that an unknown error may have.
func unknowns() []classify.Class { return []classify.Class{classify.RetryBackoff, classify.Permanent} }

func (l Limits) faults() []error {
	var faults []error
	if l.Concurrency < 1 {
		faults = append(faults, fmt.Errorf("Limits.Concurrency is %d, want at least 1", l.Concurrency))
	}
	if l.HeldRecords < 1 || l.HeldBytes < 1 {
		faults = append(faults, errors.New("Limits.HeldRecords and Limits.HeldBytes must be at least 1"))
	}
	if l.RecordBytes < MinRecordBytes || l.RecordBytes > MaxRecordBytes {
		faults = append(faults, fmt.Errorf("Limits.RecordBytes is %d, want %d to %d", l.RecordBytes, MinRecordBytes, MaxRecordBytes))
	}
	return faults
}

func (t Timing) faults(m Membership) []error {
	if min(t.Handler, t.Commit, t.Transaction, t.Shutdown, m.Session) < 0 {
		return []error{errors.New("a duration of Timing or Membership is negative")}
	}
	return nil
}

// topicFaults reports tiers that do not ascend, and topics that are missing or have two uses.
func (c Config) topicFaults() []error {
	var faults []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	names, tiers := map[string]string{c.Source: "Source"}, c.Retries.Tiers
	for i, t := range append(slices.Clone(tiers), policy.Tier{Topic: c.DLQ}) {
		what := "tier " + strconv.Itoa(i+1)
		if i == len(tiers) {
			what = "DLQ"
		}
		add(t.Topic == "", "%s has no topic", what)
		add(names[t.Topic] != "", "%s and %s are the same topic %q", names[t.Topic], what, t.Topic)
		names[t.Topic] = what
	}
	for _, t := range []struct {
		what, topic string
		used        bool
	}{
		{"Ordering.StateTopic", c.Ordering.StateTopic, true},
		{"Dedupe.LedgerTopic", c.Dedupe.LedgerTopic, c.Dedupe.On()},
		{"Journal.HashChain.HeadTopic", c.Journal.HashChain.HeadTopic, c.Journal.HashChain.On()},
	} {
		if t.used && t.topic != "" {
			add(names[t.topic] != "", "%s and %s are the same topic %q", names[t.topic], t.what, t.topic)
			names[t.topic] = t.what
		}
	}
	for i, t := range tiers {
		add(t.Delay <= 0, "tier %d has delay %v, want more than 0", i+1, t.Delay)
		add(i > 0 && t.Delay <= tiers[i-1].Delay, "tier %d has delay %v, want more than tier %d", i+1, t.Delay, i)
	}
	return faults
}
