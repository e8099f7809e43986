package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// ErrRunning is wrapped when an adoption finds running instances of the group. They must be stopped first.
var ErrRunning = errors.New("instances of the group are running; stop all of them first")

// Adopt makes the memory belong to the topics as they are now, and returns the plan that it carried out. All instances
// must be stopped. Adopt ends the open transactions of killed or frozen instances, so that none of them can commit
// later, and writes the checkpoints of all partitions in one transaction. A second call does what is left, or nothing.
func (e *Engine) Adopt(ctx context.Context) (*Adoption, error) {
	adm, err := e.access.Admin()
	if err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	defer adm.Close()
	if err := e.alone(ctx, adm, e.cfg.Group); err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	client, err := e.fencing(ctx, adm)
	if err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	defer client.Close()
	a, err := e.planAdoption(ctx, adm) // nobody else writes from here on
	if err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	if len(a.shards) == 0 {
		return a, nil
	}
	if a.group != "" {
		if err := e.alone(ctx, adm, a.group); err != nil {
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

// alone refuses a group that has members.
func (e *Engine) alone(ctx context.Context, adm *kadm.Client, group string) error {
	described, err := adm.DescribeGroups(ctx, group)
	if err != nil {
		return fmt.Errorf("describe group %s: %w", group, e.denial("Describe", "group "+group, err))
	}
	g := described[group]
	if g.Err != nil && !errors.Is(g.Err, kerr.GroupIDNotFound) {
		return fmt.Errorf("describe group %s: %w", group, e.denial("Describe", "group "+group, g.Err))
	}
	if len(g.Members) == 0 {
		return nil
	}
	var names []string
	for _, m := range g.Members {
		names = append(names, kafka.MemberName(m)+" on "+m.ClientHost)
	}
	return fmt.Errorf("%w: group %s has %s", ErrRunning, group, strings.Join(names, ", "))
}

// fencing returns a producer that fences other adoptions, and ends the open transactions of the group's instances. An
// instance that begins another transaction cannot commit it: the broker refuses its offsets, because it is no longer a
// member.
func (e *Engine) fencing(ctx context.Context, adm *kadm.Client) (*kgo.Client, error) {
	if e.cfg.Delivery == AtLeastOnce {
		return kgo.NewClient(append(e.access.ClientOptions(), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	}
	client, err := kgo.NewClient(append(e.access.ClientOptions(), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.TransactionalID(e.cfg.Group+"-adopt"), kgo.TransactionTimeout(e.cfg.Timing.Transaction))...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", kafka.ErrOptions, err)
	}
	if _, _, err := client.ProducerID(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("take transactional id: %w", e.denial("Write", "transactional id "+e.cfg.Group+"-adopt", err))
	}
	if err := e.fence(ctx, adm, client); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// fence ends the open transactions of the group's instances.
func (e *Engine) fence(ctx context.Context, adm *kadm.Client, client *kgo.Client) error {
	open, err := adm.ListTransactions(ctx, nil, []string{"Ongoing"})
	if err != nil {
		return fmt.Errorf("list transactions: %w", e.denial("Describe", "transactional id "+e.cfg.Group+"-*", err))
	}
	var candidates []string
	for _, id := range open.TransactionalIDs() {
		if strings.HasPrefix(id, e.cfg.Group+"-") {
			candidates = append(candidates, id)
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	described, err := adm.DescribeTransactions(ctx, candidates...)
	if err != nil {
		return fmt.Errorf("describe transactions: %w", e.denial("Describe", "transactional id "+e.cfg.Group+"-*", err))
	}
	for _, id := range candidates {
		if !e.writesTo(described[id].Topics) {
			continue // the transaction of another group whose name has this one's as prefix
		}
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis = &id, int32(e.cfg.Timing.Transaction.Milliseconds())
		for {
			resp, err := req.RequestWith(ctx, client)
			if err == nil {
				err = kerr.ErrorForCode(resp.ErrorCode)
			}
			if errors.Is(err, kerr.ConcurrentTransactions) && sleep(ctx, kafka.MetadataAge) {
				continue // the broker is ending the transaction
			}
			if err != nil {
				return fmt.Errorf("fence %s: %w", id, e.denial("Write", "transactional id "+id, err))
			}
			break
		}
	}
	return nil
}

// writesTo reports whether a transaction writes to a topic of this engine.
func (e *Engine) writesTo(topics kadm.TopicsSet) bool {
	own := slices.Concat(e.cluster.Records()[1:], e.cluster.Memory(), e.cfg.Outputs, []string{e.cfg.Ordering.StateTopic})
	return slices.ContainsFunc(own, func(topic string) bool { return len(topics[topic]) > 0 })
}

// dropCommits deletes the commits of re-created topics. Brokers delete them with the topic, but not at once.
func (e *Engine) dropCommits(ctx context.Context, adm *kadm.Client, a *Adoption) error {
	gone := kadm.TopicsSet{}
	for _, sh := range a.shards {
		for _, m := range sh.mismatches {
			if m.Kind == memory.MismatchSource || m.Kind == memory.MismatchTier {
				gone.Add(m.Topic, sh.partition)
			}
		}
	}
	if len(gone) == 0 {
		return nil
	}
	deleted, err := adm.DeleteOffsets(ctx, e.cfg.Group, gone)
	if err == nil {
		err = deleted.Error()
	}
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete the offsets of group %s: %w", e.cfg.Group, e.denial("Delete", "group "+e.cfg.Group, err))
	}
	return nil
}

// writeAdoption writes the new checkpoints.
func (e *Engine) writeAdoption(ctx context.Context, client *kgo.Client, a *Adoption) error {
	records := make([]*kgo.Record, 0, len(a.shards))
	for _, sh := range a.shards {
		r, err := sh.next.Record(e.cfg.Ordering.StateTopic, sh.partition)
		if err != nil {
			return err
		}
		records = append(records, r)
		for k, st := range sh.loosened {
			r, err := statetopic.EncodeOrder(e.cfg.Ordering.StateTopic, sh.partition, k, st, e.cfg.scale())
			if err != nil {
				return err
			}
			records = append(records, r)
		}
	}
	if e.cfg.Delivery == AtLeastOnce {
		return client.ProduceSync(ctx, records...).FirstErr()
	}
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		err = fmt.Errorf("write to %s: %w", e.cfg.Ordering.StateTopic, e.denial("Write", "topic "+e.cfg.Ordering.StateTopic, err))
		return errors.Join(err, client.EndTransaction(context.WithoutCancel(ctx), kgo.TryAbort))
	}
	return client.EndTransaction(ctx, kgo.TryCommit)
}
