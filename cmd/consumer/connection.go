package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// withClient calls f with a client of the pipeline's cluster, once a broker answers. An error about a missing
// permission names the permission to grant.
func withClient(ctx context.Context, cfg *config.Config, f func(*kgo.Client) error) error {
	opts, err := kafka.ClientOptions(cfg.Kafka)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(append(opts, kgo.BrokerMaxReadBytes(kafka.MaxAnswer))...)
	if err != nil {
		return fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	if err := kafka.Reachable(ctx, client); err != nil {
		return err
	}
	return kafka.NamedDenial(kafka.Principal(cfg.Kafka), "consumer topics acls", f(client))
}

// withAdmin is [withClient] for questions about topics and groups.
func withAdmin(ctx context.Context, cfg *config.Config, f func(*kadm.Client) error) error {
	return withClient(ctx, cfg, func(client *kgo.Client) error { return f(kadm.NewClient(client)) })
}

// withControl reads the control topic and calls f as [withClient] does.
func withControl(ctx context.Context, cfg *config.Config, file string, f func(*kgo.Client, control.View) error) error {
	return withClient(ctx, cfg, func(client *kgo.Client) error {
		view, err := control.Read(ctx, client.Opts(), cfg.Topics.Control)
		if _, refused := errors.AsType[*retrytopics.DeniedError](err); refused {
			return err
		}
		if err != nil {
			return fmt.Errorf("%w; `consumer topics ensure -c %s` creates the missing ones", err, file)
		}
		return f(client, view)
	})
}
