package governance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// Document is a complete ledger, as it is exported and verified.
type Document struct {
	Version  int    `json:"ledger_version"`
	Pipeline string `json:"pipeline"`
	Source   string `json:"source"` // topic
	// ReadAt is when it was read from its topics.
	ReadAt time.Time `json:"read_at,omitzero"`
	// Retention is how long the audit topic keeps a record, in milliseconds; -1 for unlimited, 0 if it is unknown or
	// limited by size.
	Retention  int64       `json:"audit_retention_ms"`
	Partitions []Partition `json:"partitions"`
}

// Partition is the chain of one partition.
type Partition struct {
	Partition int32       `json:"partition"`
	Head      *audit.Head `json:"head"` // from the topic of the heads; nil if there is none
	// Begins is the log start of the audit topic's partition; above 0 something was deleted.
	Begins  int64     `json:"audit_begins_at"`
	Entries []Chained `json:"entries"`
}

// Chained is an entry with its place. The entry keeps its original text, including members of later versions.
type Chained struct {
	Link  audit.Link      `json:"link"`
	Entry json.RawMessage `json:"entry"`
}

// Read exports the ledger of a pipeline from its topics, up to their current ends. It reads the heads first, so that
// entries added meanwhile do not look like a gap.
func Read(ctx context.Context, client *kgo.Client, cfg *config.Config) (Document, error) {
	doc := Document{
		Version: Version, Pipeline: cfg.Pipeline.ID, Source: cfg.Source.Topic, Partitions: []Partition{}, ReadAt: time.Now().UTC().Truncate(time.Millisecond),
	}
	kept, err := Heads(ctx, client, cfg.Topics.Governance)
	if err != nil {
		return Document{}, err
	}
	retention, err := audit.Retention(ctx, client, cfg.Topics.Audit)
	if err != nil {
		return Document{}, err
	}
	if doc.Retention = retention.Milliseconds(); retention < 0 {
		doc.Retention = -1
	}
	spans, err := kafka.DecidedSpans(ctx, client, cfg.Topics.Audit)
	if err != nil {
		return Document{}, err
	}
	chains := map[int32]*Partition{}
	for p, head := range kept {
		chains[p] = &Partition{Partition: p, Head: &head, Entries: []Chained{}}
	}
	err = kafka.Scan(ctx, client, cfg.Topics.Audit, spans, func(r *kgo.Record) error {
		place, entry, ok, err := audit.Entry(r.Value)
		if err != nil {
			return fmt.Errorf("%s/%d/%d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		if !ok || place.Of != audit.Governance {
			return nil
		}
		p := chains[r.Partition]
		if p == nil {
			p = &Partition{Partition: r.Partition}
			chains[r.Partition] = p
		}
		if p.Head == nil || place.Seq <= p.Head.Seq {
			p.Entries = append(p.Entries, Chained{place.Link, entry})
		}
		return nil
	})
	if err == nil {
		err = begun(ctx, client, cfg.Topics.Governance, chains)
	}
	for _, p := range slices.Sorted(maps.Keys(chains)) {
		chains[p].Begins = spans[p].Start
		doc.Partitions = append(doc.Partitions, *chains[p])
	}
	return doc, err
}

// Heads reads the head of each partition that has one, including everything committed before the call.
func Heads(ctx context.Context, client *kgo.Client, topic string) (map[int32]audit.Head, error) {
	spans, err := kafka.DecidedSpans(ctx, client, topic)
	if err != nil {
		return nil, err
	}
	out := map[int32]audit.Head{}
	err = kafka.Scan(ctx, client, topic, spans, func(r *kgo.Record) error {
		var head audit.Head
		if err := json.Unmarshal(r.Value, &head); err != nil {
			return fmt.Errorf("%s/%d/%d: head of the ledger: %w", r.Topic, r.Partition, r.Offset, err)
		}
		out[r.Partition] = head
		return nil
	})
	return out, err
}

// begun removes the chains that began after the heads were read. Entries without a head stay: the head was removed.
func begun(ctx context.Context, client *kgo.Client, topic string, chains map[int32]*Partition) error {
	hasHead := func(_ int32, p *Partition) bool { return p.Head != nil }
	rest := maps.Clone(chains)
	if maps.DeleteFunc(rest, hasHead); len(rest) == 0 {
		return nil
	}
	now, err := Heads(ctx, client, topic)
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

// Entries counts the entries.
func (d Document) Entries() int {
	n := 0
	for _, p := range d.Partitions {
		n += len(p.Entries)
	}
	return n
}

// ParseDocument parses an exported ledger. It does not verify it.
func ParseDocument(text []byte) (Document, error) {
	var d Document
	if err := json.Unmarshal(text, &d); err != nil {
		return Document{}, fmt.Errorf("read the ledger: %w", err)
	}
	if d.Version < 1 || d.Version > Version {
		return Document{}, fmt.Errorf("read the ledger: it has version %d, but this program supports version %d", d.Version, Version)
	}
	return d, nil
}

// Verify compares every chain of the ledger with its hashes and its head.
func (d Document) Verify() []audit.Report {
	retention := time.Duration(d.Retention) * time.Millisecond
	var out []audit.Report
	for _, p := range d.Partitions {
		check := audit.NewCheck(audit.Governance, p.Partition, p.Head, nil)
		for _, e := range p.Entries {
			check.Add(e.Link, e.Entry)
		}
		out = append(out, check.End(p.Head, audit.Kept{Begins: p.Begins, Retention: retention, ReadAt: d.ReadAt}))
	}
	return out
}
