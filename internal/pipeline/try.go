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

// admit passes a record through the gates that come before any mapping and opens it. The consumer and the dry run of the replayer begin
// with it, so a record that the one refuses does not pass the other.
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

// gate refuses what must not even be decoded.
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

// Tried is what is known of a record that passes.
type Tried struct {
	Version *int64 // what orders the events of its key; nil where the source offset does, and of a delete
	Delete  bool   // it counts as newer than every event of its key before it
}

// Try opens and maps a record as [Pipeline.Handle] does and returns why the pipeline would refuse it, as far as that is known without
// its remote steps and its database. The topics' limits are those of the record. A delete passes, and so does a feature that the mapping leaves out: it is
// closed, not refused.
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

// TryValue is [Mapping.Try] for a sample: a value that is not in a record, so that nothing is known of a key.
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

// tryFeature maps one feature and writes it, without remote steps. place returns the key of the output and the headers that the feature has
// of its own, or refuses it.
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
	if len(m.cfg.Enrich) == 0 { // else a remote step may give what is missing
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

// least is the smallest output that remote steps may make of a feature: they set properties that the mapping has given already, too.
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

// checkRowKey refuses a key of an output that finds no row of the sink's table, when there is one.
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

// tryParts is what the dry run does with a collection. Of features that fail by themselves it names the first, and how many
// there are. Features that have their end are not judged.
func (m *Mapping) tryParts(ctx context.Context, r *retrytopics.Record, content *envelope.Content, denied error) (Tried, error) {
	c, err := m.collection(r, content)
	if err == nil && !c.apart {
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
		case !c.apart:
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
	if c.apart {
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
