package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/recordbatch"
)

// Heads are the heads of all chains, by partition of the audit topic.
type Heads map[Chain]map[int32]Head

// of returns the head of a chain in a partition; nil if it has none.
func (h Heads) of(k chainKey) *Head {
	head, ok := h[k.chain][k.partition]
	if !ok {
		return nil
	}
	return &head
}

// chainKey is a chain in a partition.
type chainKey struct {
	chain     Chain
	partition int32
}

// Verify reads the audit topic once and compares each chain with its hashes, its head, and an earlier call's report. It
// calls heads before it reads the entries, so that entries added meanwhile do not look like a gap, and once more if
// entries follow a head.
//
// A record that is not an event is not named itself: its chain has a gap there.
func Verify(ctx context.Context, client *kgo.Client, topic string, since []Report, heads func(context.Context) (Heads, error)) ([]Report, error) {
	before, err := heads(ctx)
	if err != nil {
		return nil, err
	}
	kept := Kept{ReadAt: time.Now()}
	if kept.Retention, err = Retention(ctx, client, topic); err != nil {
		return nil, err
	}
	// Read everything that was committed together with the heads: an entry that an open transaction hides would look
	// removed.
	spans, err := kafka.DecidedSpans(ctx, client, topic)
	if err != nil {
		return nil, err
	}
	checks := begun(before, since)
	err = kafka.ScanWith(ctx, client, topic, spans, 0, func(r *kgo.Record) error {
		place, entry, ok, err := Entry(r.Value)
		if err != nil || !ok {
			return nil //nolint:nilerr // see above
		}
		k := chainKey{place.Of, r.Partition}
		if checks[k] == nil {
			checks[k] = NewCheck(k.chain, k.partition, nil, nil)
		}
		checks[k].Add(place.Link, entry)
		return nil
	}, func(*recordbatch.Large) error { return nil })
	if err != nil {
		return nil, err
	}
	now, err := latest(ctx, before, checks, heads)
	if err != nil {
		return nil, err
	}
	var out []Report
	for k, c := range checks {
		kept.Begins = spans[k.partition].Start
		out = append(out, c.End(now.of(k), kept))
	}
	slices.SortFunc(out, func(x, y Report) int {
		return cmp.Or(cmp.Compare(slices.Index(Chains(), x.Chain), slices.Index(Chains(), y.Chain)), cmp.Compare(x.Partition, y.Partition))
	})
	return out, nil
}

// begun begins a check for each chain that has a head, or had one.
func begun(heads Heads, since []Report) map[chainKey]*Check {
	earlier := map[chainKey]*Link{}
	for _, r := range since {
		if r.Head != nil {
			earlier[chainKey{r.Chain, r.Partition}] = &r.Head.Link
		}
	}
	checks := map[chainKey]*Check{}
	for chain, partitions := range heads {
		for p := range partitions {
			k := chainKey{chain, p}
			checks[k] = NewCheck(chain, p, heads.of(k), earlier[k])
		}
	}
	for k, link := range earlier {
		if checks[k] == nil {
			checks[k] = NewCheck(k.chain, k.partition, nil, link)
		}
	}
	return checks
}

// latest returns the heads to compare the entries with: those read before them, or newer ones if entries follow these.
func latest(ctx context.Context, before Heads, checks map[chainKey]*Check, heads func(context.Context) (Heads, error)) (Heads, error) {
	for _, c := range checks {
		if c.Behind() {
			return heads(ctx)
		}
	}
	return before, nil
}

// Retention returns how long a topic keeps its records: -1 is forever, 0 if its size is limited too.
func Retention(ctx context.Context, client *kgo.Client, topic string) (time.Duration, error) {
	settings, err := kafka.Settings(ctx, kadm.NewClient(client), topic)
	if err != nil {
		return 0, fmt.Errorf("retention of %s: %w", topic, kafka.DeniedTopic("DescribeConfigs", topic, err))
	}
	number := func(name string) int64 {
		n, err := strconv.ParseInt(settings[name], 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	switch ms := number("retention.ms"); {
	case number("retention.bytes") > 0:
		return 0, nil
	case ms < 0:
		return -1, nil
	default:
		return time.Duration(ms) * time.Millisecond, nil
	}
}
