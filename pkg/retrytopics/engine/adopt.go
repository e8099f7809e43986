package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// Adopt makes the memory belong to the topics as they are now, and returns the plan that it carried out. All instances
// must be stopped. Adopt ends the open transactions of killed or frozen instances, so that none of them can commit
// later, and writes the checkpoints of all partitions in one transaction. A second call does what is left, or nothing.
func (e *Engine) Adopt(ctx context.Context) (*Adoption, error) {
	adm, err := e.in.Access.Admin()
	if err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	defer adm.Close()
	if err := e.in.Access.Alone(ctx, adm, e.in.Cfg.Group); err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	client, err := e.fencing(ctx, adm)
	if err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	defer client.Close()
	a, err := e.planAdoption(ctx, adm) // no other producer can write from here on
	if err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	if len(a.states) == 0 {
		return a, nil
	}
	if a.group != "" {
		if err := e.in.Access.Alone(ctx, adm, a.group); err != nil {
			return nil, fmt.Errorf("adopt: %w", err)
		}
	}
	if err := e.dropCommits(ctx, adm, a); err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	if err := e.writeAdoption(ctx, client, a); err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	return a, nil
}

// fencing returns the producer of an adoption. It fences other adoptions and the group's instances.
func (e *Engine) fencing(ctx context.Context, adm *kadm.Client) (*kgo.Client, error) {
	if e.in.Cfg.Delivery == retrytopics.AtLeastOnce {
		return e.in.Access.Producer()
	}
	return e.in.Access.FencingProducer(ctx, adm, e.in.Cfg.Group, e.in.Cfg.Group+"-adopt", e.in.Cfg.Timing.Transaction, e.in.Cluster.Written())
}

// dropCommits deletes the commits of re-created topics. Brokers delete them with the topic, but not at once.
func (e *Engine) dropCommits(ctx context.Context, adm *kadm.Client, a *Adoption) error {
	gone := kadm.TopicsSet{}
	for _, state := range a.states {
		for _, m := range state.mismatches {
			if m.Kind == retrytopics.MismatchSource || m.Kind == retrytopics.MismatchTier {
				gone.Add(m.Topic, state.partition)
			}
		}
	}
	return e.in.Access.DeleteCommits(ctx, adm, e.in.Cfg.Group, gone)
}

// writeAdoption writes the new checkpoints.
func (e *Engine) writeAdoption(ctx context.Context, client *kgo.Client, a *Adoption) error {
	records := make([]*kgo.Record, 0, len(a.states))
	for _, state := range a.states {
		r, err := state.next.Record(e.in.Cfg.Ordering.StateTopic, state.partition)
		if err != nil {
			return err
		}
		records = append(records, r)
		for k, st := range state.loosened {
			r, err := statetopic.EncodeOrder(e.in.Cfg.Ordering.StateTopic, state.partition, k, st, partition.ScaleOf(&e.in.Cfg.Ordering))
			if err != nil {
				return err
			}
			records = append(records, r)
		}
	}
	if e.in.Cfg.Delivery == retrytopics.AtLeastOnce {
		return client.ProduceSync(ctx, records...).FirstErr()
	}
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		err = fmt.Errorf("write to %s: %w", e.in.Cfg.Ordering.StateTopic, e.in.Denial("Write", "topic "+e.in.Cfg.Ordering.StateTopic, err))
		return errors.Join(err, client.EndTransaction(context.WithoutCancel(ctx), kgo.TryAbort))
	}
	return client.EndTransaction(ctx, kgo.TryCommit)
}
