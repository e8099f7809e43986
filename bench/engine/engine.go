package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// firstTier is the delay of the first retry.
const firstTier = 2 * time.Second

// engineConfig is the engine with defaults, in strict order and with the ledger, on the run's own topics.
func engineConfig(s *spec) retrytopics.Config {
	return retrytopics.Config{
		Brokers: s.Brokers, Source: s.Source, Group: s.Run, Membership: retrytopics.Membership{Instance: "bench"},
		Handler: handler(s.output(), s.FailEvery, s.FailTimes),
		Retries: retrytopics.Retries{Tiers: []policy.Tier{
			{Topic: s.Run + ".retry-2s", Delay: firstTier}, {Topic: s.Run + ".retry-8s", Delay: 8 * time.Second},
		}},
		DLQ:      s.Run + ".dlq",
		Ordering: retrytopics.Ordering{Mode: retrytopics.OrderStrict, StateTopic: s.Run + ".state"},
		Dedupe:   retrytopics.Dedupe{Window: 24 * time.Hour, LedgerTopic: s.Run + ".ledger"},
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
}

// runEngine runs the engine until every event is finished.
func runEngine(ctx context.Context, s *spec) (*report, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	m := newMeter(s.Events, stop)
	m.paced = s.Paced
	cfg := engineConfig(s)
	cfg.Hooks.OnTransaction = m.transaction
	cfg.Hooks.OnCommit = m.events
	e, err := engine.New(cfg)
	if err != nil {
		return nil, err
	}
	if err := e.Run(ctx); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	if !m.done() {
		return nil, errors.New("engine: interrupted")
	}
	return m.report(), nil
}
