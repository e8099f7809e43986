package status

import (
	"context"
	"time"

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
	was := map[int32]Shard{}
	for _, s := range before.Shards {
		was[s.Partition] = s
	}
	var in, done int64
	for _, s := range r.Shards {
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

// Watch gathers a report again and again, at most once per period, until the context ends. If the first one fails, Watch
// returns the error. A later failure is passed to show with the last report, so that an unreachable broker is visible
// and does not end the watch.
func Watch(ctx context.Context, every time.Duration, gather func(context.Context) (Report, error), show func(Seen, error) error) error {
	var last Seen
	for first := true; ctx.Err() == nil; first = false {
		bounded, cancel := context.WithTimeout(ctx, max(every, gatherBound))
		report, err := gather(bounded)
		cancel()
		switch {
		case ctx.Err() != nil: // err follows from it
			continue
		case err != nil && first:
			return err
		case err == nil:
			now := Seen{At: time.Now(), Report: report}
			if !first {
				rates := report.Since(last.Report, now.At.Sub(last.At))
				now.Rates = &rates
			}
			last = now
		}
		if err := show(last, err); err != nil {
			return err
		}
		_ = kafka.Pause(ctx, every) // the loop notices that the context has ended
	}
	return nil
}

// gatherBound is how long the brokers may take for one report.
const gatherBound = 10 * time.Second
