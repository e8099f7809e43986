package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/verify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// ErrNotProven marks a run in which `consumer verify records` does not find every record in exactly one place.
var ErrNotProven = errors.New("not every record is proven to be in exactly one place")

// verify runs `consumer verify records`. The demo has no other count of records.
func (p *play) verify(ctx context.Context, cfg *config.Config) (*verify.Report, error) {
	options, err := kafka.ClientOptions(cfg.Kafka)
	if err != nil {
		return nil, err
	}
	view, err := control.Read(ctx, options, cfg.Topics.Control)
	if err != nil {
		return nil, err
	}
	o := verify.Options{Bounds: verify.Bounds{Partition: -1}, Limit: verify.DefaultLimit, MaxPositions: verify.DefaultMaxPositions}
	if o.Proven, err = verify.Prover(os.Getenv, view.Keys); err != nil {
		return nil, err
	}
	report, err := verify.Run(ctx, p.stage.client, cfg, o)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	return report, nil
}

// proven returns an error for a report that proves less than that every record is in exactly one place, and prints the report.
func (p *play) proven(report *verify.Report) error {
	if report.Verdict == verify.Proven {
		return nil
	}
	return errors.Join(fmt.Errorf("%w: %s", ErrNotProven, report.Line()), report.Text(p.Stderr))
}

// waitDrained waits until the group has committed everything in the source and the retry topics.
func waitDrained(ctx context.Context, admin *kadm.Client, cfg *config.Config) error {
	topics := append([]string{cfg.Source.Topic}, cfg.TierTopics()...)
	for {
		all, err := kafka.Lag(ctx, admin, cfg.Source.Group, kafka.Stable, topics...)
		if err != nil {
			return err
		}
		var lag int64
		for _, partitions := range all {
			for _, p := range partitions {
				lag += p.Lag
			}
		}
		if lag == 0 {
			return nil
		}
		if err := kafka.Pause(ctx, 200*time.Millisecond); err != nil {
			return context.Cause(ctx)
		}
	}
}

// causes groups the dead letters of a DLQ by error and message.
func causes(ctx context.Context, client *kgo.Client, dlq string) ([]deadletters.Group, error) {
	spans, err := kafka.Spans(ctx, client, dlq)
	if err != nil {
		return nil, err
	}
	var g deadletters.Grouping
	err = deadletters.Reading{}.Letters(ctx, client, dlq, spans, func(l *deadletters.Letter) error {
		g.Add(l)
		return nil
	})
	return g.Groups(), err
}

// sample is a delivered feature that the report shows.
type sample struct {
	key, geometry, place string
	attempts             int
}

// samples returns one delivered feature of each geometry type, by type: the one that took the most attempts.
func samples(ctx context.Context, client *kgo.Client, output string) (map[string]sample, error) {
	spans, err := kafka.Spans(ctx, client, output)
	if err != nil {
		return nil, err
	}
	found := map[string]sample{}
	return found, kafka.Scan(ctx, client, output, spans, func(r *kgo.Record) error {
		var f struct {
			Properties struct {
				Place string `json:"place_name"`
			}
			Geometry struct{ Type string }
		}
		c, err := header.ParseControl(r.Headers)
		if err != nil || json.Unmarshal(r.Value, &f) != nil {
			return err // other values are not samples
		}
		kind := strings.TrimPrefix(f.Geometry.Type, "Multi")
		if best, there := found[kind]; !there || c.Attempt > best.attempts {
			found[kind] = sample{key: string(r.Key), geometry: f.Geometry.Type, place: f.Properties.Place, attempts: max(c.Attempt, 1)}
		}
		return nil
	})
}
