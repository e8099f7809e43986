package consumer

import (
	"context"
	"errors"

	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Adopt returns what it means for the pipeline's memory to adopt the topics as they are now, and adopts them if execute
// is set. All instances must then be stopped.
func Adopt(ctx context.Context, cfg *config.Config, execute bool) (*engine.Adoption, error) {
	connection, err := kafka.ClientOptions(cfg.Kafka)
	if err != nil {
		return nil, err
	}
	settings := memories(cfg)
	settings.Client.Options, settings.Client.Principal = connection, kafka.Principal(cfg.Kafka)
	settings.Handler = func(context.Context, *retrytopics.Record) (retrytopics.Result, error) {
		return retrytopics.Result{}, errors.New("an adoption handles no records")
	}
	e, err := engine.New(settings)
	if err != nil {
		return nil, err
	}
	if execute {
		return e.Adopt(ctx)
	}
	return e.PlanAdoption(ctx)
}

// memories returns the part of the engine's configuration that names the group and the topics of its memory.
func memories(cfg *config.Config) retrytopics.Config {
	e := retries(cfg)
	e.Group, e.Membership.Instance, e.Origin.Pipeline = cfg.Source.Group, cfg.Engine.Instance, cfg.Pipeline.ID
	e.Ordering = retrytopics.Ordering{
		Mode: retrytopics.Order(cfg.Ordering.Mode), OnDeadLetter: retrytopics.OnDeadLetter(cfg.Ordering.OnDeadLetter),
		StateTopic: cfg.Topics.State,
		Versions: retrytopics.Versions{
			Keep: retrytopics.KeepVersions(cfg.Ordering.Versions.Keep), MaxKeys: cfg.Ordering.Versions.MaxKeys, Of: cfg.Source.Version,
		},
	}
	e.Ordering.Versioned = cfg.Source.Version != ""
	e.Dedupe = retrytopics.Dedupe{Window: cfg.Dedupe.Window.Std(), MaxKeys: cfg.Dedupe.MaxKeys, LedgerTopic: cfg.Topics.Ledger}
	e.Delivery, e.Timing.Transaction = retrytopics.Delivery(cfg.Delivery), cfg.Engine.TransactionTimeout.Std()
	return e
}
