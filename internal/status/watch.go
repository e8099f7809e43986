package status

import (
	"context"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// Seen is one report of a watch, with the rates since the previous one.
type Seen struct {
	At time.Time `json:"at"`
	Report

	Rates *Rates `json:"rates,omitempty"` // nil in the first one
}

// Rates are the speeds between two reports, in source offsets per second.
type Rates struct {
	In   float64 `json:"in_per_second"`        // new in the source
	Done float64 `json:"committed_per_second"` // committed by the group
	// Left is the time in seconds until the lag is zero at this speed; nil if the lag does not shrink.
	Left *float64 `json:"seconds_left"`
}

// Since returns the rates since an earlier report. A partition that one of the reports lacks, or that was re-created,
// does not count.
func (r Report) Since(before Report, elapsed time.Duration) Rates {
	if elapsed <= 0 {
		return Rates{}
	}
	was := map[int32]kafka.PartitionLag{}
	for _, s := range before.Partitions {
		was[s.Partition] = s
	}
	var in, done int64
	for _, s := range r.Partitions {
		if b, known := was[s.Partition]; known {
			in += max(0, s.End-b.End)
			done += max(0, s.Committed-max(b.Committed, 0))
		}
	}
	rates := Rates{In: float64(in) / elapsed.Seconds(), Done: float64(done) / elapsed.Seconds()}
	if gain := rates.Done - rates.In; r.Lag > 0 && gain > 0 {
		left := float64(r.Lag) / gain
		rates.Left = &left
	}
	return rates
}

// Watch gathers a report again and again and adds the rates since the last one (see [cli.Watch]).
func Watch(ctx context.Context, every time.Duration, gather func(context.Context) (Report, error), show func(Seen, error) error) error {
	var last Seen
	return cli.Watch(ctx, every, func(ctx context.Context) (Seen, error) {
		report, err := gather(ctx)
		if err != nil {
			return Seen{}, err
		}
		now := Seen{At: time.Now(), Report: report}
		if !last.At.IsZero() {
			rates := report.Since(last.Report, now.At.Sub(last.At))
			now.Rates = &rates
		}
		last = now
		return now, nil
	}, show)
}
