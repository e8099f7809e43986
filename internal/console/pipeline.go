package console

import (
	"cmp"
	"context"
	"slices"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/replay"
)

// pipeline asks the topics of a pipeline besides its DLQ. One request at a time reads them: each reads a whole topic.
type pipeline struct {
	service  *replay.Service
	overview *replay.Overview // follows the status topic; not safe for concurrent use
	turn     chan struct{}    // holds one token while somebody reads
}

func newPipeline(s *replay.Service) *pipeline {
	return &pipeline{service: s, overview: s.Overview(), turn: make(chan struct{}, 1)}
}

// ReplaysAnswer has the replays in progress.
type ReplaysAnswer struct {
	Fresh   Freshness   `json:"fresh"`
	Replays replay.Look `json:"overview"`
}

// ReplayAnswer is one replay.
type ReplayAnswer struct {
	Fresh  Freshness     `json:"fresh"`
	Replay replay.Report `json:"replay"`
}

// AuditAnswer has events of the audit topic, or what operators did with each command.
type AuditAnswer struct {
	Fresh   Freshness       `json:"fresh"`
	Events  []audit.Event   `json:"events"`            // the newest first; empty with operations=true
	Actions []replay.Action `json:"actions,omitempty"` // the newest first; with operations=true
	LeftOut int             `json:"left_out"`          // older ones that the filters select
}

// live waits for the caller's turn to read the pipeline's topics and calls fn with how fresh its answer is at least.
func (c *Console) live(ctx context.Context, fn func(p *pipeline, fresh Freshness) error) error {
	if c.pipeline == nil {
		return usage("this DLQ has no pipeline, so no replay and no audit topic is known; start replayer serve with -c pipeline.yaml")
	}
	select {
	case c.pipeline.turn <- struct{}{}:
		defer func() { <-c.pipeline.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := c.letters.Reachable(ctx); err != nil {
		return err
	}
	ends, err := c.letters.PipelineEnds(ctx)
	if err != nil {
		return err
	}
	now := c.now()
	return fn(c.pipeline, newFreshness(now, now, ends))
}

func (c *Console) replays(ctx context.Context, _ query) (any, error) {
	var out ReplaysAnswer
	err := c.live(ctx, func(p *pipeline, fresh Freshness) (err error) {
		out.Fresh = fresh
		out.Replays, err = p.overview.Look(ctx)
		return err
	})
	if out.Replays.Replays == nil {
		out.Replays.Replays = []replay.Underway{}
	}
	return out, err
}

func (c *Console) replay(ctx context.Context, q query) (any, error) {
	var out ReplayAnswer
	err := c.live(ctx, func(p *pipeline, fresh Freshness) (err error) {
		out.Fresh = fresh
		out.Replay, err = p.service.Status(ctx, q.id)
		return err
	})
	return out, err
}

func (c *Console) audit(ctx context.Context, q query) (any, error) {
	limit, err := q.limit()
	if err != nil {
		return nil, err
	}
	filter := replay.TrailFilter{Letter: q.get("letter"), Operation: q.get("operation")}
	if filter.Since, err = q.time("since", c.now()); err != nil {
		return nil, err
	}
	if q.get("operations") == "true" {
		return c.actions(ctx, filter, limit)
	}
	newest := newestEvents{limit: limit}
	var out AuditAnswer
	err = c.live(ctx, func(p *pipeline, fresh Freshness) error {
		out.Fresh = fresh
		return p.service.Trail(ctx, filter, newest.add)
	})
	newest.cut()
	out.Events, out.LeftOut = append([]audit.Event{}, newest.events...), newest.leftOut
	return out, err
}

// actions answers with one entry for each command of an operator.
func (c *Console) actions(ctx context.Context, filter replay.TrailFilter, limit int) (any, error) {
	out := AuditAnswer{Events: []audit.Event{}}
	err := c.live(ctx, func(p *pipeline, fresh Freshness) (err error) {
		out.Fresh = fresh
		out.Actions, err = p.service.Actions(ctx, filter)
		return err
	})
	slices.Reverse(out.Actions) // the oldest came first
	if out.LeftOut = max(len(out.Actions)-limit, 0); out.LeftOut > 0 {
		out.Actions = out.Actions[:limit]
	}
	return out, err
}

// newestEvents keeps the newest of many events in the memory of twice its limit.
type newestEvents struct {
	limit, leftOut int
	events         []audit.Event
}

func (n *newestEvents) add(e audit.Event) error {
	if n.events = append(n.events, e); len(n.events) >= 2*n.limit {
		n.cut()
	}
	return nil
}

// cut sorts the events, the newest first, and leaves out those beyond the limit.
func (n *newestEvents) cut() {
	slices.SortStableFunc(n.events, func(a, b audit.Event) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Place.Seq, a.Place.Seq))
	})
	if over := len(n.events) - n.limit; over > 0 {
		n.events, n.leftOut = n.events[:n.limit], n.leftOut+over
	}
}
