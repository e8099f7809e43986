package deadletters

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// chainHeadPrefix begins the keys of the status topic that belong to no dead letter. Each holds the head of the
// operators' hash chain in one partition of the audit topic, from which the next operation continues.
const chainHeadPrefix = "audit-chain/"

// ChainHead is the head of the operators' hash chain in one partition of the audit topic, as the status topic stores it.
type ChainHead struct {
	Partition int32 `json:"partition"`
	audit.Head
}

// Record returns the head's record in a partition of the status topic.
func (h ChainHead) Record(topic string, partition int32) (*kgo.Record, error) {
	value, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode the head of the audit chain %d: %w", h.Partition, err)
	}
	key := strconv.AppendInt([]byte(chainHeadPrefix), int64(h.Partition), 10)
	return &kgo.Record{Topic: topic, Partition: partition, Key: key, Value: value}, nil
}

// ParseChainHead parses the value of a head's record.
func ParseChainHead(value []byte) (h ChainHead, err error) {
	if err = json.Unmarshal(value, &h); err != nil {
		err = fmt.Errorf("head of an audit chain: %w", err)
	}
	return h, err
}

// IsChainHead reports whether a record of the status topic is the head of a chain rather than a state.
func IsChainHead(key []byte) bool { return bytes.HasPrefix(key, []byte(chainHeadPrefix)) }

// ChainHeads reads the heads of the operators' hash chain from the status topic, by partition of the audit topic,
// including everything committed before the call.
func ChainHeads(ctx context.Context, cl *kgo.Client, topic string) (map[int32]audit.Head, error) {
	spans, err := kafka.DecidedSpans(ctx, cl, topic)
	if err != nil {
		return nil, err
	}
	heads := map[int32]audit.Head{}
	err = ScanStates(ctx, kafka.Cluster{Client: cl}, topic, spans, func(r *StateRecord) error {
		if r.ChainHead == nil {
			return nil
		}
		head, err := ParseChainHead(r.ChainHead)
		if err != nil {
			return fmt.Errorf("%s: %w", r.At, err)
		}
		heads[head.Partition] = head.Head
		return nil
	})
	return heads, err
}
