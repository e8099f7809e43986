package audit

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Filter selects audit events. An event must match all its fields. The zero filter selects the events of
// operators.
type Filter struct {
	DeadLetter string     // events about this dead letter, including the consumer's events about its record from the first attempt on
	Feature    string     // events about this feature ID, including the consumer's
	Source     string     // events about the record that first appeared at "topic/partition/offset", including the consumer's
	Key        []byte     // events about records with this Kafka key, including the consumer's; nil is any
	Operation  string     // events of this replay or other operation
	By         string     // events of this operator
	Decisions  []Decision // events with one of these decisions
	Since      time.Time  // events at or after this time
	All        bool       // include the consumer's events
}

// Match reports whether the filter selects an event. topic is the source topic of the pipeline.
func (f *Filter) Match(e *Event, topic string) bool {
	ofRecord := f.DeadLetter != "" || f.Feature != "" || f.Source != "" || f.Key != nil
	ofLetter := func() bool {
		return e.DeadLetter == f.DeadLetter || e.DeadLetter == "" && e.By == "" && e.Source != "" && e.Source == firstPosition(topic, f.DeadLetter)
	}
	switch {
	case !f.All && !ofRecord && e.By == "":
		return false
	case f.Feature != "" && e.FeatureID != f.Feature, f.Source != "" && e.Source != f.Source, f.Key != nil && !bytes.Equal(e.Key, f.Key):
		return false
	case f.DeadLetter != "" && !ofLetter(), f.Operation != "" && e.RunID != f.Operation, f.By != "" && e.By != f.By:
		return false
	case len(f.Decisions) > 0 && !slices.Contains(f.Decisions, e.Decision):
		return false
	}
	return f.Since.IsZero() || !e.Time.Before(f.Since)
}

// firstPosition returns the position where the record of a dead letter first appeared, from its ID
// "<partition>-<offset>-<hash>"; "" for other IDs. Events from before the record died do not contain the ID.
func firstPosition(topic, letter string) string {
	partition, rest, _ := strings.Cut(letter, "-")
	offset, _, found := strings.Cut(rest, "-")
	p, notPartition := strconv.ParseInt(partition, 10, 32)
	o, notOffset := strconv.ParseInt(offset, 10, 64)
	if !found || notPartition != nil || notOffset != nil {
		return ""
	}
	return header.Position{Topic: topic, Partition: int32(p), Offset: o}.String()
}
