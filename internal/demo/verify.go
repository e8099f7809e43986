package demo

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/verify"
)

// ErrNotProven marks a run after which `consumer verify records` does not find every record in exactly one place.
var ErrNotProven = errors.New("not every record is proven to be in exactly one place")

// verify does what `consumer verify records` does, while the consumer runs, and shows its verdict.
func (p *play) verify(ctx context.Context) error {
	cfg := p.stage.settings.after
	kafka, err := kafka.ClientOptions(cfg.Kafka)
	if err != nil {
		return err
	}
	view, err := control.Read(ctx, kafka, cfg.Topics.Control)
	if err != nil {
		return err
	}
	o := verify.Options{Bounds: verify.Bounds{Partition: -1}, Limit: verify.DefaultLimit, Rounds: verify.DefaultRounds, MaxPositions: verify.DefaultMaxPositions}
	if o.Proven, err = verify.Prover(os.Getenv, view.Keys); err != nil {
		return err
	}
	report, err := verify.Run(ctx, p.stage.client, cfg, o)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	fmt.Fprintf(p.report(), "\nconsumer verify records: %s\n", report.Line())
	if report.Verdict != verify.Proven {
		return errors.Join(fmt.Errorf("%w: %s", ErrNotProven, report.Line()), report.Text(p.Stderr))
	}
	return nil
}
