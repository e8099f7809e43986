package dlq

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// The limits of S4-7 above which there are too many pending dead letters.
const (
	ManyPerDay = 100    // of one pipeline that died today
	ManyInAll  = 100000 // of all
)

// Stats counts dead letters and reports how urgent they are.
type Stats struct {
	dlqindex.Stats

	Topic     string
	Retention Retention
	Warnings  []string // warnings for the operator, in words
}

// Retention is when the DLQ deletes dead letters.
type Retention struct {
	Known   bool
	Time    time.Duration // age at which a dead letter is deleted; negative is never
	Bytes   int64         // size of a partition above which the oldest are deleted; negative is unlimited
	Deletes time.Time     // earliest time at which the oldest pending dead letter can be deleted; zero is never by time
}

// Stats counts the dead letters, and reads their retention from the topic's settings.
func (s *Service) Stats(ctx context.Context) (Stats, error) {
	counted, err := ask(ctx, s, func(d *dlqindex.DLQ) (dlqindex.Stats, error) { return d.Stats(ctx) })
	if err != nil {
		return Stats{}, err
	}
	out := Stats{Stats: counted, Topic: s.source.DLQ}
	if out.Retention, err = s.retention(ctx); err != nil {
		return Stats{}, err
	}
	if r := &out.Retention; out.Oldest != nil && r.Known && r.Time >= 0 {
		r.Deletes = out.Earliest.Add(r.Time)
	}
	out.Warnings = warnings(&out, s.now())
	return out, nil
}

// retention reads the settings of the topic. It is unknown while [Service.Refresh] fails, and if the broker refuses to
// list them.
func (s *Service) retention(ctx context.Context) (Retention, error) {
	if s.away.Load() {
		return Retention{}, nil
	}
	settings, err := kafka.Settings(ctx, s.admin, s.source.DLQ)
	if _, refused := errors.AsType[*kerr.Error](err); refused {
		return Retention{}, nil
	}
	if err != nil {
		return Retention{}, fmt.Errorf("read the settings of %s: %w", s.source.DLQ, err)
	}
	r := Retention{Time: -1, Bytes: -1}
	if ms, err := strconv.ParseInt(settings["retention.ms"], 10, 64); err == nil {
		r.Known = true
		if ms >= 0 {
			r.Time = time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
		}
	}
	if bytes, err := strconv.ParseInt(settings["retention.bytes"], 10, 64); err == nil {
		r.Bytes = bytes
	}
	return r, nil
}

// warnings returns the warnings for the operator (S4-7, and dead letters that are about to be lost).
func warnings(s *Stats, now time.Time) []string {
	var out []string
	pending, today := 0, map[string]int{}
	for _, n := range s.Pending {
		pending += n.Letters
		if n.Day == now.UTC().Format(time.DateOnly) {
			today[n.Pipeline] += n.Letters
		}
	}
	if pending > ManyInAll {
		out = append(out, fmt.Sprintf("%d dead letters are pending; more than %d are too many", pending, ManyInAll))
	}
	for _, n := range s.Pending { // in order, each pipeline once
		if today[n.Pipeline] > ManyPerDay {
			of := "" // other software names no pipeline
			if n.Pipeline != "" {
				of = " of pipeline " + n.Pipeline
			}
			out = append(out, fmt.Sprintf("%d dead letters%s died today and are pending; more than %d a day are too many", today[n.Pipeline], of, ManyPerDay))
			delete(today, n.Pipeline)
		}
	}
	if s.Lost > 0 {
		out = append(out, fmt.Sprintf("%d pending dead letters were deleted by retention before an operator replayed or discarded them", s.Lost))
	}
	if at := s.Retention.Deletes; !at.IsZero() {
		out = append(out, fmt.Sprintf("retention can delete the oldest pending dead letter, from %s on; set retention.ms of %s to -1",
			at.Format(time.RFC3339), s.Topic))
	}
	if s.Retention.Bytes >= 0 {
		out = append(out, fmt.Sprintf("retention.bytes of %s is %d: dead letters can be deleted for their size at any time; set it to -1", s.Topic, s.Retention.Bytes))
	}
	return out
}
