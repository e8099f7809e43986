package governance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/chain"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// Document is a whole ledger, as it is exported and verified.
type Document struct {
	Version  int    `json:"ledger_version"`
	Pipeline string `json:"pipeline"`
	Source   string `json:"source"` // topic
	// ReadAt is when it was read from its topics.
	ReadAt time.Time `json:"read_at,omitzero"`
	// Retention is how long the audit topic keeps a record, in milliseconds; -1 for ever, 0 when that is not known, or goes by size.
	Retention  int64       `json:"audit_retention_ms,omitempty"`
	Partitions []Partition `json:"partitions"`
}

// Partition is the chain of one partition.
type Partition struct {
	Partition int32       `json:"partition"`
	Head      *chain.Link `json:"head"`              // as it is kept apart from the entries; nil when there are none
	HeadAt    string      `json:"head_at,omitempty"` // when the latest entry was made; "" when an older version made it
	// Begins is the offset at which the partition of the audit topic begins; above 0 something was deleted from it. nil: not known.
	Begins  *int64    `json:"audit_begins_at,omitempty"`
	Entries []Chained `json:"entries"`
}

// Chained is an entry in its place. The entry is kept as it was written, members of later versions included.
type Chained struct {
	Link  chain.Link      `json:"link"`
	Entry json.RawMessage `json:"entry"`
}

// Read takes the ledger of a pipeline from its topics, up to their present ends. The heads are read first, so that what
// consumers add meanwhile does not look like a gap.
func Read(ctx context.Context, client *kgo.Client, cfg *config.Config) (Document, error) {
	doc := Document{
		Version: Version, Pipeline: cfg.Pipeline.ID, Source: cfg.Source.Topic, Partitions: []Partition{}, ReadAt: time.Now().UTC().Truncate(time.Millisecond),
	}
	kept, err := heads(ctx, client, cfg.Topics.Governance)
	if err != nil {
		return Document{}, err
	}
	if doc.Retention, err = retention(ctx, client, cfg.Topics.Audit); err != nil {
		return Document{}, err
	}
	spans, err := kafka.DecidedSpans(ctx, client, cfg.Topics.Audit)
	if err != nil {
		return Document{}, err
	}
	chains := map[int32]*Partition{}
	for p, head := range kept {
		chains[p] = &Partition{Partition: p, Head: &head.Link, HeadAt: head.At, Entries: []Chained{}}
	}
	err = kafka.Scan(ctx, client, cfg.Topics.Audit, spans, func(r *kgo.Record) error {
		link, entry, ok, err := split(r.Value)
		if err != nil {
			return fmt.Errorf("%s/%d/%d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		if !ok {
			return nil
		}
		p := chains[r.Partition]
		if p == nil {
			p = &Partition{Partition: r.Partition}
			chains[r.Partition] = p
		}
		if p.Head == nil || link.Seq <= p.Head.Seq {
			p.Entries = append(p.Entries, Chained{link, entry})
		}
		return nil
	})
	if err == nil {
		err = begun(ctx, client, cfg.Topics.Governance, chains)
	}
	for _, p := range slices.Sorted(maps.Keys(chains)) {
		chains[p].Begins = new(spans[p].Start)
		doc.Partitions = append(doc.Partitions, *chains[p])
	}
	return doc, err
}

// heads reads the head of each partition that has one. All that was committed before is in it.
func heads(ctx context.Context, client *kgo.Client, topic string) (map[int32]headRecord, error) {
	spans, err := kafka.DecidedSpans(ctx, client, topic)
	if err != nil {
		return nil, err
	}
	out := map[int32]headRecord{}
	err = kafka.Scan(ctx, client, topic, spans, func(r *kgo.Record) error {
		var head headRecord
		if err := json.Unmarshal(r.Value, &head); err != nil {
			return fmt.Errorf("%s/%d/%d: head of the ledger: %w", r.Topic, r.Partition, r.Offset, err)
		}
		out[r.Partition] = head
		return nil
	})
	return out, err
}

// begun takes out the chains that have begun since the heads were read. Entries that still have no head stay: it was taken away.
func begun(ctx context.Context, client *kgo.Client, topic string, chains map[int32]*Partition) error {
	hasHead := func(_ int32, p *Partition) bool { return p.Head != nil }
	rest := maps.Clone(chains)
	if maps.DeleteFunc(rest, hasHead); len(rest) == 0 {
		return nil
	}
	now, err := heads(ctx, client, topic)
	if err != nil {
		return err
	}
	for p := range rest {
		if _, has := now[p]; has {
			delete(chains, p)
		}
	}
	return nil
}

// retention gives how long a topic keeps its records, in milliseconds: -1 for ever, 0 when its size decides, too.
func retention(ctx context.Context, client *kgo.Client, topic string) (int64, error) {
	described, err := kadm.NewClient(client).DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return 0, fmt.Errorf("retention of %s: %w", topic, kafka.DeniedTopic("DescribeConfigs", topic, err))
	}
	for _, d := range described {
		if d.Err != nil {
			return 0, fmt.Errorf("retention of %s: %w", topic, kafka.DeniedTopic("DescribeConfigs", topic, d.Err))
		}
	}
	values := map[string]int64{}
	for _, c := range described {
		for _, v := range c.Configs {
			if n, err := strconv.ParseInt(v.MaybeValue(), 10, 64); err == nil {
				values[v.Key] = n
			}
		}
	}
	if values["retention.bytes"] > 0 {
		return 0, nil
	}
	return values["retention.ms"], nil
}

// Entries counts the entries.
func (d Document) Entries() int {
	n := 0
	for _, p := range d.Partitions {
		n += len(p.Entries)
	}
	return n
}

// ParseDocument reads an exported ledger. It does not verify it.
func ParseDocument(text []byte) (Document, error) {
	var d Document
	if err := json.Unmarshal(text, &d); err != nil {
		return Document{}, fmt.Errorf("read the ledger: %w", err)
	}
	if d.Version < 1 || d.Version > Version {
		return Document{}, fmt.Errorf("read the ledger: it has version %d, this program knows version %d", d.Version, Version)
	}
	return d, nil
}
