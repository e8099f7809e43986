package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrRunning is wrapped when a group has members that must be stopped first.
var ErrRunning = errors.New("instances of the group are running; stop all of them first")

// Alone refuses a group that has members.
func (a *Access) Alone(ctx context.Context, adm *kadm.Client, group string) error {
	described, err := adm.DescribeGroups(ctx, group)
	if err != nil {
		return fmt.Errorf("describe group %s: %w", group, a.Denial("Describe", "group "+group, err))
	}
	g := described[group]
	if g.Err != nil && !errors.Is(g.Err, kerr.GroupIDNotFound) {
		return fmt.Errorf("describe group %s: %w", group, a.Denial("Describe", "group "+group, g.Err))
	}
	if len(g.Members) == 0 {
		return nil
	}
	var names []string
	for _, m := range g.Members {
		names = append(names, memberName(m)+" on "+m.ClientHost)
	}
	return fmt.Errorf("%w: group %s has %s", ErrRunning, group, strings.Join(names, ", "))
}

// Producer returns a producer that chooses no partitions, without transactions.
func (a *Access) Producer() (*kgo.Client, error) {
	return kgo.NewClient(append(a.ClientOptions(), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
}

// FencingProducer returns a transactional producer that chooses no partitions. It fences other producers with its ID, and ends
// the open transactions of the group's instances that write to own topics. An instance that begins another transaction
// cannot commit it: the broker refuses its offsets, because it is no longer a member.
func (a *Access) FencingProducer(ctx context.Context, adm *kadm.Client, group, id string, timeout time.Duration, own []string) (*kgo.Client, error) {
	client, err := kgo.NewClient(append(a.ClientOptions(), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.TransactionalID(id), kgo.TransactionTimeout(timeout))...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOptions, err)
	}
	if _, _, err := client.ProducerID(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("take transactional id: %w", a.Denial("Write", "transactional id "+id, err))
	}
	if err := a.fence(ctx, adm, client, group, timeout, own); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// fence ends the open transactions of the group's instances.
func (a *Access) fence(ctx context.Context, adm *kadm.Client, client *kgo.Client, group string, timeout time.Duration, own []string) error {
	open, err := adm.ListTransactions(ctx, nil, []string{"Ongoing"})
	if err != nil {
		return fmt.Errorf("list transactions: %w", a.Denial("Describe", "transactional id "+group+"-*", err))
	}
	var candidates []string
	for _, id := range open.TransactionalIDs() {
		if strings.HasPrefix(id, group+"-") {
			candidates = append(candidates, id)
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	described, err := adm.DescribeTransactions(ctx, candidates...)
	if err != nil {
		return fmt.Errorf("describe transactions: %w", a.Denial("Describe", "transactional id "+group+"-*", err))
	}
	for _, id := range candidates {
		if !writesTo(described[id].Topics, own) {
			continue // the transaction of another group whose name has this one's as prefix
		}
		if err := endTransaction(ctx, client, id, timeout); err != nil {
			return fmt.Errorf("fence %s: %w", id, a.Denial("Write", "transactional id "+id, err))
		}
	}
	return nil
}

// writesTo reports whether a transaction writes to one of some topics.
func writesTo(topics kadm.TopicsSet, own []string) bool {
	return slices.ContainsFunc(own, func(topic string) bool { return len(topics[topic]) > 0 })
}

// endTransaction ends the open transaction of an ID and fences its producer.
func endTransaction(ctx context.Context, client *kgo.Client, id string, timeout time.Duration) error {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &id, int32(timeout.Milliseconds())
	for {
		resp, err := req.RequestWith(ctx, client)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if !errors.Is(err, kerr.ConcurrentTransactions) {
			return err
		}
		select { // the broker is ending the transaction
		case <-ctx.Done():
			return err
		case <-time.After(MetadataAge):
		}
	}
}

// DeleteCommits deletes a group's commits of partitions. A group that does not exist has none.
func (a *Access) DeleteCommits(ctx context.Context, adm *kadm.Client, group string, of kadm.TopicsSet) error {
	if len(of) == 0 {
		return nil
	}
	deleted, err := adm.DeleteOffsets(ctx, group, of)
	if err == nil {
		err = deleted.Error()
	}
	if err == nil || errors.Is(err, kerr.GroupIDNotFound) {
		return nil
	}
	return fmt.Errorf("delete the offsets of group %s: %w", group, a.Denial("Delete", "group "+group, err))
}
