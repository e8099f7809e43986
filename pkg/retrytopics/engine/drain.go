package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/instance"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
)

// drainLook is the period in which RunUntilEnd checks whether the group is done, with three requests each.
const drainLook = 100 * time.Millisecond

// RunUntilEnd consumes what the source topic contains at the time of the call and everything that waits in the tiers,
// former ones included. It returns nil when all of it is finished and committed. It may run in several instances of a
// group at once: each returns when the group as a whole is done. It returns the context's error if the context ends
// first.
func (e *Engine) RunUntilEnd(ctx context.Context) error {
	client, err := kgo.NewClient(e.in.Access.ClientOptions()...)
	if err != nil {
		return fmt.Errorf("run until end: %w", err)
	}
	defer client.Close()
	adm := kadm.NewClient(client)
	found, err := e.in.Cluster.Inspect(ctx, adm, e.in.Health.WasHealthy())
	if err != nil {
		return err
	}
	e.in.Former.Store(&found.Former)
	target, err := adm.ListEndOffsets(ctx, e.in.Cfg.Source)
	if err != nil {
		return fmt.Errorf("read the end of %s: %w", e.in.Cfg.Source, err)
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- e.Run(running) }()
	for done := false; !done && instance.Sleep(running, drainLook); {
		select {
		case err := <-ended:
			return err
		default:
		}
		if s := e.current.Load(); s == nil || !s.Settled() {
			continue // it may have an error that must be known first, such as a lost memory
		}
		done, err = e.drained(running, adm, target)
		switch {
		case errors.Is(err, ErrLogTruncated): // it would count as done
			stop()
			return errors.Join(err, <-ended)
		case err != nil && running.Err() == nil:
			e.in.Cfg.Logger.WarnContext(ctx, "cannot read the group's offsets", "error", err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		return err
	}
	return ctx.Err()
}

// drained reports whether the group has committed the source up to the target and every tier up to its end.
func (e *Engine) drained(ctx context.Context, adm *kadm.Client, target kadm.ListedOffsets) (bool, error) {
	consumed := e.in.Consumed()
	// The commits are read before the ends: a finished record was put into a tier in the same transaction at the latest,
	// so the ends read afterwards include it. The end is the high watermark: a commit is known before its marker has
	// reached every partition, and the last stable offset waits for the marker.
	committed, err := adm.FetchOffsets(ctx, e.in.Cfg.Group)
	if err != nil {
		return false, err
	}
	ends, err := adm.ListEndOffsets(ctx, consumed...)
	if err != nil {
		return false, err
	}
	if err := topics.Untruncated(committed, ends); err != nil {
		return false, err
	}
	delete(ends, e.in.Cfg.Source) // the target counts for the source
	starts, err := adm.ListStartOffsets(ctx, consumed...)
	if err != nil {
		return false, err
	}
	reached := true
	check := func(o kadm.ListedOffset) {
		if _, sharded := target.Lookup(e.in.Cfg.Source, o.Partition); !sharded && o.Err == nil {
			return // partition of a former tier beyond the source's: nothing waits there, see excess
		}
		at := int64(0)
		if start, ok := starts.Lookup(o.Topic, o.Partition); ok {
			at = start.Offset
		}
		if c, ok := committed.Lookup(o.Topic, o.Partition); ok && c.At >= 0 {
			at = c.At // not where the log starts: a gap is counted before the position passes over it
		}
		reached = reached && o.Err == nil && at >= o.Offset
	}
	target.Each(check)
	ends.Each(check)
	if reached { // an older or newer instance may have written to a tier that this one does not know
		changed, err := e.in.Rediscover(ctx, adm)
		if s := e.current.Load(); s != nil && changed != nil {
			s.End(changed)
		}
		return changed == nil, err
	}
	return false, nil
}
