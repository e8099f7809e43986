package pipeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// admit applies the gates that precede the mapping to a record, and decodes it. Both the consumer and the replayer's dry
// run use it, so they refuse the same records.
func (m *Mapping) admit(ctx context.Context, r *retrytopics.Record) (envelope.Content, error) {
	if err := m.gate(r); err != nil {
		return envelope.Content{}, err
	}
	content, err := m.Open(ctx, r.Headers, r.Value)
	if err == nil && !content.Delete && content.Features == nil && (!r.Part().Whole() || r.Remaining() != nil) {
		content.Features = []*transform.Feature{content.Feature} // an edited part may be written without its collection
	}
	return content, err
}

// gate refuses records that must not be decoded.
func (m *Mapping) gate(r *retrytopics.Record) error {
	switch {
	case r.Key == nil && m.cfg.Source.NullKeys == config.NullKeysReject:
		return &transform.Error{
			Code: classify.CodeNullKey, Stage: classify.StageGate, Message: "the record has no key",
			Fix: "send the feature's id as the key, or copy the topic by key (see \"Re-key a topic\" in docs/delivery.md), or set source.null_keys: accept (Kafka then keeps no order per feature)",
		}
	case len(r.Value) > m.cfg.Source.MaxRecordBytes:
		return &transform.Error{
			Code: classify.CodeRecordTooLarge, Stage: classify.StageGate,
			Message: fmt.Sprintf("the record has %d bytes, the limit is %d", len(r.Value), m.cfg.Source.MaxRecordBytes),
			Fix:     "send it in parts or simplified, or raise source.max_record_bytes",
		}
	}
	return nil
}

// Tried describes a record that passes.
type Tried struct {
	Version *int64 // orders the events of its key; nil for a delete, and if the source offset orders them
	Delete  bool   // it is newer than every earlier event of its key
}

// Try opens and maps a record as [Pipeline.Handle] does, without remote steps and database, and returns the error
// with which the pipeline would refuse it. The limits of the topics are those of the record. Deletes pass. Features
// that the mapping filters out pass too, because they are closed and not refused.
func (m *Mapping) Try(ctx context.Context, r *retrytopics.Record) (Tried, error) {
	if r.Control == nil {
		r.Control = &header.Control{}
	}
	content, err := m.admit(ctx, r)
	if err != nil {
		return Tried{}, err
	}
	_, denied := m.governance.Marks(r.Headers, r.Control, features(&content)...)
	switch {
	case content.Delete && denied != nil:
		return Tried{Delete: true}, denied
	case content.Delete:
		if err := m.checkRowKey(ctx, r.Key, nil); err != nil {
			return Tried{Delete: true}, err
		}
		return Tried{Delete: true}, r.Fits(m.output(r, r.Key, nil))
	case content.Features != nil:
		return m.tryParts(ctx, r, &content, denied)
	case denied != nil:
		return Tried{}, denied
	}
	version, err := m.version(content.Feature)
	if err == nil {
		err = m.tryFeature(ctx, r, content.Feature, func(*transform.Feature) ([]byte, []kgo.RecordHeader, error) { return r.Key, nil, nil })
	}
	return Tried{Version: version}, err
}

// TryValue is [Mapping.Try] for a sample value without a record, whose key is unknown.
func (m *Mapping) TryValue(ctx context.Context, value []byte) error {
	content, err := m.Open(ctx, nil, value)
	if err != nil || content.Delete {
		return err
	}
	r := &retrytopics.Record{Control: &header.Control{}, Value: value}
	if content.Features != nil {
		_, err = m.tryParts(ctx, r, &content, nil)
		return err
	}
	if _, err = m.version(content.Feature); err == nil {
		_, err = m.mapped(ctx, content.Feature)
	}
	return err
}

// tryFeature maps and encodes one feature without remote steps. place returns the key of the output and the feature's
// own headers, or an error that refuses it.
func (m *Mapping) tryFeature(
	ctx context.Context, r *retrytopics.Record, f *transform.Feature, place func(*transform.Feature) ([]byte, []kgo.RecordHeader, error),
) error {
	target, err := m.mapped(ctx, f)
	if err != nil || target == nil {
		return err
	}
	key, own, err := place(target)
	if err != nil {
		return err
	}
	if len(m.cfg.Enrich) == 0 { // otherwise a remote step may set the missing property
		if err := m.transformer.Validate(target); err != nil {
			return err
		}
	}
	value, err := m.encoder.try(target)
	if err != nil {
		return err
	}
	if err := m.checkRowKey(ctx, key, target); err != nil {
		return err
	}
	return r.Fits(m.output(r, key, m.least(target, value), own...))
}

// least returns the smallest output that remote steps could make of a feature, because they may replace properties that
// the mapping has set.
func (m *Mapping) least(target *transform.Feature, value []byte) []byte {
	set := func(p transform.Member) bool {
		return slices.ContainsFunc(m.cfg.Enrich, func(step config.EnrichStep) bool { _, sets := step.Set[p.Name]; return sets })
	}
	if !slices.ContainsFunc(target.Properties, set) {
		return value
	}
	without := *target
	without.Properties = slices.DeleteFunc(slices.Clone(target.Properties), set)
	if smaller, err := m.encoder.try(&without); err == nil {
		return smaller
	}
	return nil
}

// checkRowKey refuses an output key that cannot identify a row of the sink's table. Without a table it accepts every
// key.
func (m *Mapping) checkRowKey(ctx context.Context, key []byte, target *transform.Feature) error {
	table := m.cfg.Sink.PostGIS
	if table == nil {
		return nil
	}
	switch rule := m.cfg.Sink.Key; rule {
	case config.SinkKeyRecord:
		return sink.CheckRecordKey(key, table.Table)
	case config.SinkKeyFeature:
		if target == nil {
			return nil
		}
		return sink.CheckRowKey([]byte(target.IDString()), string(rule), table.Table, string(key))
	default:
		_, row, err := m.KeyPath(ctx, key)
		if err != nil {
			return classify.WithStage(classify.StageSink, err)
		}
		if target == nil {
			return nil
		}
		return sink.CheckRowKey(row, string(rule), table.Table, string(key))
	}
}

// tryParts is the dry run for a collection. If features fail separately, the error names the first one and their number.
// It skips features that are already finished.
func (m *Mapping) tryParts(ctx context.Context, r *retrytopics.Record, content *envelope.Content, denied error) (Tried, error) {
	c, err := m.collection(r, content)
	if err == nil && !c.separate {
		err = denied
	}
	if err != nil {
		return Tried{}, err
	}
	version, err := m.newest(c)
	if err != nil {
		return Tried{}, err
	}
	keys, failed, tried := partKeys{}, 0, 0
	var first error
	for i, f := range c.Features {
		if !c.open(i) {
			m.claim(ctx, keys, i, f)
			continue
		}
		tried++
		err := m.tryPart(ctx, c, i, keys)
		switch {
		case err == nil:
			continue
		case !c.separate:
			return Tried{Version: version}, err
		case first == nil:
			first = err
		}
		failed++
	}
	if failed > 1 {
		first = fmt.Errorf("%d of %d features fail; the first: %w", failed, tried, first)
	}
	return Tried{Version: version}, first
}

func (m *Mapping) tryPart(ctx context.Context, c *collection, i int, keys partKeys) error {
	f, index := c.Features[i], c.part(i).Index
	if f == nil {
		return c.Faults[i]
	}
	var err error
	if c.separate {
		_, err = m.governance.Marks(c.record.Headers, c.record.Control, f)
	}
	if err == nil {
		_, err = m.version(f)
	}
	if err == nil {
		err = m.tryFeature(ctx, c.record, f, func(target *transform.Feature) ([]byte, []kgo.RecordHeader, error) {
			return []byte(target.IDString()), c.own(i, target, idempotency.Of(c.contents[i]).String()), keys.take(index, target)
		})
	}
	if err != nil {
		return inPart(index, err)
	}
	return nil
}
