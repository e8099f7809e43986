package memory

import (
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// RestoreState applies a record of the state topic that has the order or the version of a key. The last of each counts.
// ok is false for any other record: a checkpoint.
func (p *Partition) RestoreState(key, value []byte) (ok bool, err error) {
	if k, ok := statetopic.HashOf(key); ok {
		return true, p.restoreVersion(k, value)
	}
	k, ok := statetopic.KeyOf(key)
	switch {
	case !ok:
		return false, nil
	case value == nil:
		delete(p.base, k)
		return true, nil
	}
	order, err := statetopic.DecodeOrder(value, p.settings.Scale)
	if err == nil {
		p.base[k] = order
	}
	return true, err
}

// restoreVersion applies the version of a key if versions are kept. If they are no longer kept, the version will be
// removed.
func (p *Partition) restoreVersion(k idempotency.KeyHash, value []byte) error {
	delete(p.evicted.early, k)
	if p.latest == nil {
		p.evicted.addEarly(k, p.settings.DropVersions && value != nil)
		return nil
	}
	if value == nil {
		p.latest.table.Forget(k)
		return nil
	}
	n, err := statetopic.DecodeVersion(value, p.settings.Scale)
	if err != nil {
		return err
	}
	p.evicted.addEarly(p.latest.note(k, n))
	return nil
}

// RestoreLedger applies a record of the ledger. Versions of another scale count by their offsets alone.
func (p *Partition) RestoreLedger(value []byte, now time.Time, otherScale bool) error {
	if !otherScale {
		return p.ledger.Restore(value, now)
	}
	changes, err := idempotency.ReadChanges(value)
	if err != nil {
		return err
	}
	for i := range changes {
		changes[i].Applied.Version = math.MinInt64
	}
	return p.ledger.Restore(idempotency.AppendChanges(nil, changes), now)
}

// maxPacked keeps a packed record far below Kafka's default message limit.
const maxPacked = 8192

// Encode returns the records of a transaction's changes: the orders of keys, packed records of what took effect for the
// ledger, and the versions of keys.
func (p *Partition) Encode(changes []*Change) (records []*kgo.Record, err error) {
	ledged := make([]idempotency.Change, 0, len(changes))
	for _, c := range changes {
		if c.ledged {
			ledged = append(ledged, idempotency.Change{Key: c.Hash, Applied: c.applied})
		}
		if c.order == nil {
			continue
		}
		r, err := statetopic.EncodeOrder(p.settings.StateTopic, p.number, c.order.key, c.order.state, p.settings.Scale)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	for part := range slices.Chunk(ledged, maxPacked) {
		records = append(records, &kgo.Record{Topic: p.settings.LedgerTopic, Partition: p.number, Value: idempotency.AppendChanges(nil, part)})
	}
	return append(records, p.encodeVersions(changes)...), nil
}

// encodeVersions returns the records of the versions that a transaction changes, the last one of each key.
func (p *Partition) encodeVersions(changes []*Change) (records []*kgo.Record) {
	if p.latest == nil {
		return nil
	}
	last := make(map[idempotency.KeyHash]*Change, len(changes))
	for _, c := range changes {
		if c.versioned {
			last[c.Hash] = c
		}
	}
	for _, c := range changes { // in their order: a start evicts by it
		if last[c.Hash] == c {
			records = append(records, statetopic.EncodeVersion(p.settings.StateTopic, p.number, c.Hash, &c.latest, p.settings.Scale))
		}
	}
	return records
}

// EncodeRemovals returns tombstones for some of the evicted versions, and how many of the queue they stand for: keys that
// have come back since are skipped. The tombstones must follow the records of Encode, because one of these versions may
// have been evicted by another one of the same transaction.
func (p *Partition) EncodeRemovals() (records []*kgo.Record, of int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of = min(len(p.evicted.keys), maxRemoved)
	for _, k := range p.evicted.keys[:of] {
		if p.latest != nil {
			if _, back := p.latest.of(k); back {
				continue
			}
		}
		records = append(records, statetopic.EncodeVersion(p.settings.StateTopic, p.number, k, nil, ""))
	}
	return records, of
}

// Removed drops the first n keys of the queue of evicted ones, once their tombstones are committed.
func (p *Partition) Removed(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.evicted.keys = slices.Delete(p.evicted.keys, 0, min(n, len(p.evicted.keys)))
}
