package governance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/chain"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Document is a whole ledger, as it is exported and verified.
type Document struct {
	Version    int         `json:"ledger_version"`
	Pipeline   string      `json:"pipeline"`
	Source     string      `json:"source"` // topic
	Partitions []Partition `json:"partitions"`
}

// Partition is the chain of one partition.
type Partition struct {
	Partition int32       `json:"partition"`
	Head      *chain.Link `json:"head"` // as it is kept apart from the entries; nil when there are none
	Entries   []Chained   `json:"entries"`
}

// Chained is an entry in its place. The entry is kept as it was written, members of later versions included.
type Chained struct {
	Link  chain.Link      `json:"link"`
	Entry json.RawMessage `json:"entry"`
}

// Read takes the ledger of a pipeline from its topics, up to their present ends. The heads are read first, so that what
// consumers add meanwhile does not look like a gap.
func Read(ctx context.Context, client *kgo.Client, cfg *config.Config) (Document, error) {
	doc := Document{Version: Version, Pipeline: cfg.Pipeline.ID, Source: cfg.Source.Topic, Partitions: []Partition{}}
	chains := map[int32]*Partition{}
	of := func(p int32) *Partition {
		if chains[p] == nil {
			chains[p] = &Partition{Partition: p, Entries: []Chained{}}
		}
		return chains[p]
	}
	err := scan(ctx, client, cfg.Topics.Governance, func(r *kgo.Record) error {
		var head chain.Link
		if err := json.Unmarshal(r.Value, &head); err != nil {
			return fmt.Errorf("%s/%d/%d: head of the ledger: %w", r.Topic, r.Partition, r.Offset, err)
		}
		of(r.Partition).Head = &head
		return nil
	})
	if err != nil {
		return Document{}, err
	}
	err = scan(ctx, client, cfg.Topics.Audit, func(r *kgo.Record) error {
		link, entry, ok, err := split(r.Value)
		if err != nil {
			return fmt.Errorf("%s/%d/%d: %w", r.Topic, r.Partition, r.Offset, err)
		}
		if p := of(r.Partition); ok && p.Head != nil && link.Seq <= p.Head.Seq {
			p.Entries = append(p.Entries, Chained{link, entry})
		}
		return nil
	})
	for _, p := range slices.Sorted(maps.Keys(chains)) {
		doc.Partitions = append(doc.Partitions, *chains[p])
	}
	return doc, err
}

// scan reads a whole topic with read_committed.
func scan(ctx context.Context, client *kgo.Client, topic string, fn func(*kgo.Record) error) error {
	spans, err := deadletters.Spans(ctx, client, topic)
	if err != nil {
		return err
	}
	return deadletters.Scan(ctx, client, topic, spans, fn)
}

// Verify holds every chain of a ledger against its hashes and its head. The error, which wraps chain.ErrBroken, names every
// partition that does not hold, and where. Entries that retention has taken from the beginning are not missed.
func (d Document) Verify() error {
	var faults []error
	for _, p := range d.Partitions {
		if err := p.verify(); err != nil {
			faults = append(faults, fmt.Errorf("partition %d: %w", p.Partition, err))
		}
	}
	return errors.Join(faults...)
}

func (p Partition) verify() error {
	var v chain.Verifier
	for _, e := range p.Entries {
		if err := v.Check(e.Link, e.Entry); err != nil {
			return err
		}
		var entry Entry
		if err := json.Unmarshal(e.Entry, &entry); err != nil {
			return fmt.Errorf("%w: entry %d: %w", chain.ErrBroken, e.Link.Seq, err)
		}
		if entry.Version > Version || !known(entry.Reason) {
			return fmt.Errorf("entry %d is of ledger version %d with the reason %q; this program knows version %d: use a newer one", e.Link.Seq, entry.Version, entry.Reason, Version)
		}
	}
	switch {
	case p.Head == nil && len(p.Entries) > 0:
		return fmt.Errorf("%w: there are %d entries and no head", chain.ErrBroken, len(p.Entries))
	case p.Head == nil || len(p.Entries) == 0 && p.Head.Seq > 0:
		return nil // nothing was ever written, or retention took all of it
	}
	return v.End(*p.Head)
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
