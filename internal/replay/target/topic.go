package target

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
)

// Topic is a topic that dead letters can go to.
type Topic struct {
	Name       string
	Partitions int32
	Refused    string // why no record may be written to it, or ""
	// The settings. They are zero if Doubt says why they are unknown.
	Compacted bool
	Keeps     time.Duration // the age at which the topic deletes or refuses a record; 0 is no limit
	Doubt     string

	maxBytes   int // max.message.bytes; 0 is unknown
	compressor *recordbatch.Compressor
}

// LookUp asks the cluster for a topic. The result names whatever the cluster does not return.
func LookUp(ctx context.Context, client *kgo.Client, name string) Topic {
	t := Topic{Name: name}
	admin := kadm.NewClient(client)
	details, err := admin.ListTopicsWithInternal(ctx, name)
	d, known := details[name]
	if err == nil && known {
		err = d.Err
	}
	switch {
	case err == nil && !known, errors.Is(err, kerr.UnknownTopicOrPartition):
		t.Refused = "there is no such topic"
	case err != nil:
		t.Refused = fmt.Sprintf("it cannot be looked up: %v", kafka.DeniedTopic("Describe", name, err))
	case d.IsInternal:
		t.Refused = "it is an internal topic of Kafka"
	default:
		t.Partitions = int32(len(d.Partitions)) //nolint:gosec // a count
		t.readSettings(ctx, admin)
	}
	return t
}

func (t *Topic) readSettings(ctx context.Context, admin *kadm.Client) {
	settings, err := kafka.Settings(ctx, admin, t.Name)
	if err != nil {
		t.Doubt = fmt.Sprintf("the settings of topic %s cannot be read: %v", t.Name, kafka.DeniedTopic("DescribeConfigs", t.Name, err))
		return
	}
	t.set(settings)
}

// set stores the settings of a topic.
func (t *Topic) set(settings map[string]string) {
	number := func(name string) int64 {
		n, err := strconv.ParseInt(settings[name], 10, 64)
		if err != nil || n < 0 {
			return math.MaxInt64 // -1 is no limit
		}
		return n
	}
	policy := settings["cleanup.policy"]
	t.Compacted = strings.Contains(policy, "compact")
	if n := number("max.message.bytes"); n > 0 && n <= math.MaxInt32 {
		t.maxBytes, t.compressor = int(n), recordbatch.NewCompressor(int(n))
	}
	oldest := min(number("message.timestamp.before.max.ms"), number("message.timestamp.difference.max.ms"))
	if !t.Compacted || strings.Contains(policy, "delete") {
		oldest = min(oldest, number("retention.ms"))
	}
	if settings["message.timestamp.type"] != "LogAppendTime" && oldest < math.MaxInt64/int64(time.Millisecond) {
		t.Keeps = max(time.Duration(oldest)*time.Millisecond, 1)
	}
}

// Fits reports whether the topic accepts a record, at least if it is compressed.
func (t *Topic) Fits(r *kgo.Record) bool {
	return t.compressor == nil || t.compressor.Fits(r, t.maxBytes)
}
