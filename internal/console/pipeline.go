package console

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/status"
)

// pipeline reads the topics of a pipeline other than its DLQ. One request at a time reads them, because each may read
// a whole topic.
type pipeline struct {
	service  *replay.Service
	overview *replay.Overview // follows the status topic; not safe for concurrent use
	turn     chan struct{}    // holds one token while a request reads
	moves    atomic.Pointer[moves]
	rest     time.Duration // for which moves are current
}

func newPipeline(s *replay.Service) *pipeline {
	return &pipeline{service: s, overview: s.Overview(), turn: make(chan struct{}, 1), rest: flowRest}
}

// flowRest is how long an answer about the flow is current: it takes a request for each partition of the retry topics.
const flowRest = 5 * time.Second

// moves is the last answer about the flow.
type moves struct {
	FlowAnswer
	read time.Time
}

// ReplaysAnswer is the replays in progress.
type ReplaysAnswer struct {
	Fresh   Freshness   `json:"fresh"`
	Replays replay.Look `json:"overview"`
}

// ReplayAnswer is one replay.
type ReplayAnswer struct {
	Fresh  Freshness     `json:"fresh"`
	Replay states.Report `json:"replay"`
}

// OutcomesAnswer is a page of the dead letters of one replay.
type OutcomesAnswer struct {
	Fresh Freshness `json:"fresh"`
	states.LetterOutcomes
}

// FlowAnswer is how records move through the pipeline; null without one.
type FlowAnswer struct {
	Fresh Freshness    `json:"fresh"`
	Flow  *replay.Flow `json:"flow"`
	// Instances are those named by replayer serve --metrics, with their breakers.
	Instances []status.Instance `json:"instances,omitempty"`
}

// ask waits for its turn to read the pipeline's topics, and calls fn. The answer is at least as fresh as the freshness
// it returns.
func ask[T any](ctx context.Context, c *Console, fn func(*pipeline) (T, error)) (answer T, fresh Freshness, err error) {
	if c.pipeline == nil {
		return answer, fresh, usage("this DLQ is not the pipeline's own, so its replays and audit topic are unknown; start replayer serve with -c pipeline.yaml alone, or with --brokers and --topic")
	}
	select {
	case c.pipeline.turn <- struct{}{}:
		defer func() { <-c.pipeline.turn }()
	case <-ctx.Done():
		return answer, fresh, ctx.Err()
	}
	if err := c.letters.Reachable(ctx); err != nil {
		return answer, fresh, err
	}
	ends, err := c.letters.PipelineEnds(ctx)
	if err != nil {
		return answer, fresh, err
	}
	now := c.now()
	answer, err = fn(c.pipeline)
	return answer, newFreshness(now, now, ends), err
}

func (c *Console) replays(ctx context.Context, _ query) (ReplaysAnswer, error) {
	look, fresh, err := ask(ctx, c, func(p *pipeline) (replay.Look, error) { return p.overview.Look(ctx) })
	look.Replays, look.Jobs = append([]states.Underway{}, look.Replays...), slices.Clone(look.Jobs)
	for i := range look.Jobs {
		c.maskOf(ctx).job(&look.Jobs[i])
	}
	return ReplaysAnswer{fresh, look}, err
}

func (c *Console) flow(ctx context.Context, _ query) (FlowAnswer, error) {
	now := c.now()
	if c.pipeline != nil {
		if kept := c.pipeline.moves.Load(); kept != nil && now.Sub(kept.read) < c.pipeline.rest {
			return FlowAnswer{newFreshness(kept.read, now, kept.Fresh.Offsets), kept.Flow, kept.Instances}, nil
		}
	}
	flow, fresh, err := ask(ctx, c, func(p *pipeline) (*replay.Flow, error) { return p.service.Flow(ctx) })
	out := FlowAnswer{Fresh: fresh, Flow: flow}
	if err == nil && flow != nil {
		for _, address := range c.metrics {
			out.Instances = append(out.Instances, status.Ask(ctx, address, flow.Pipeline))
		}
	}
	if err == nil {
		c.pipeline.moves.Store(&moves{out, now})
	}
	return out, err
}

func (c *Console) replay(ctx context.Context, q query) (ReplayAnswer, error) {
	of, err := c.askReplay(ctx, q.id, states.OutcomeQuery{})
	return of.ReplayAnswer, err
}

func (c *Console) outcomes(ctx context.Context, q query) (OutcomesAnswer, error) {
	asked, err := q.outcomes()
	if err != nil {
		return OutcomesAnswer{}, err
	}
	of, err := c.askReplay(ctx, q.id, asked)
	return OutcomesAnswer{of.Fresh, of.letters}, err
}

// replayed is one replay with a page of its dead letters.
type replayed struct {
	ReplayAnswer
	letters states.LetterOutcomes
}

// askReplay returns one replay and those of its dead letters that asked selects. The error is [states.ErrNoReplay] if
// nothing has its ID.
func (c *Console) askReplay(ctx context.Context, id string, asked states.OutcomeQuery) (replayed, error) {
	of, fresh, err := ask(ctx, c, func(p *pipeline) (of replayed, err error) {
		of.Replay, of.letters, err = p.overview.Replay(ctx, id, asked)
		return of, err
	})
	of.Fresh = fresh
	m := c.maskOf(ctx)
	m.job(of.Replay.Job)
	each(m, of.letters.Letters, func(l *states.LetterOutcome) { hide(&l.Why) })
	return of, err
}

// outcomes reads which dead letters of a replay a request selects.
func (q query) outcomes() (asked states.OutcomeQuery, err error) {
	asked = states.OutcomeQuery{Result: states.LetterResult(q.get("outcome")), After: q.get("cursor")}
	if results := states.LetterResults(); asked.Result != "" && !slices.Contains(results, asked.Result) {
		return asked, usage("outcome: %q; use one of %v", q.get("outcome"), results)
	}
	asked.Limit, err = q.limit()
	return asked, err
}
