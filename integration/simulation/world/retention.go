package world

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Prune deletes up to limit records of a source partition that the group has not committed, the oldest first, and
// returns their number. It stops before the first replay, because an operator would have to know that a replay was
// deleted. It ignores a partition without a commit: it is unknown which records a group that never committed has
// missed.
func (w *World) Prune(partition int32, limit int64) (gone int, err error) {
	w.writes <- struct{}{}
	defer func() { <-w.writes }()
	ctx, cancel := context.WithTimeout(w.ctx, readBound)
	defer cancel()
	at, known := w.Kafka.committed()[Source][partition]
	if !known {
		return 0, errors.New("the group has no commit there")
	}
	// The group continues during this reading. What it commits meanwhile is deleted as well, which does no harm.
	logs, err := w.read(ctx, []string{Source})
	if err != nil {
		return 0, err
	}
	var doomed []*kgo.Record // including committed records, which the judge needs to see
	for _, r := range logs[Source] {
		if r.Partition != partition {
			continue
		}
		_, replay := topiclog.Header(r, header.KeyReplayID)
		if r.Offset >= at && (replay > 0 || r.Offset >= at+limit) {
			break
		}
		if r.Offset >= at {
			gone++
		}
		doomed = append(doomed, r)
	}
	if gone == 0 {
		return 0, errors.New("all is committed")
	}
	w.mu.Lock()
	for _, r := range doomed {
		w.pruned = append(w.pruned, placed(r, w.epoch))
	}
	w.mu.Unlock()
	return gone, w.deleteBefore(ctx, partition, doomed[len(doomed)-1].Offset+1)
}

// deleteBefore moves the start of a source partition. It repeats the request until the brokers have carried it out,
// because after the first request it is unknown whether they have.
func (w *World) deleteBefore(ctx context.Context, partition int32, offset int64) error {
	client, err := w.Kafka.client()
	if err != nil {
		return err
	}
	defer client.Close()
	to := kadm.Offsets{}
	to.AddOffset(Source, partition, offset, -1)
	for {
		deleted, err := kadm.NewClient(client).DeleteRecords(ctx, to)
		if err == nil {
			err = deleted.Error()
		}
		if err == nil || !wait(ctx, time.Second) {
			return err
		}
	}
}

// journalLoss returns the record about a gap, which is written in the transaction that passes the gap.
func journalLoss(l retrytopics.Loss) ([]*kgo.Record, error) {
	value, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	return []*kgo.Record{{Topic: Losses, Partition: l.Partition, Value: value}}, nil
}
