package envelope

import (
	"context"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Content is the content of a record.
type Content struct {
	// Format is the format of the value without the envelope of CloudEvents. It is empty for a null value.
	Format Format

	// Delete tells that the feature under the record's key is deleted.
	Delete bool

	// Feature is nil for a delete and for a collection.
	Feature *transform.Feature

	// Features are those of a FeatureCollection that is split; nil for every other record.
	Features []*transform.Feature

	// Text is the text of the collection.
	Text []byte

	// Pieces are the features in the text, if Faults is not nil.
	Pieces transform.Pieces

	// Faults are the errors of features that cannot be read, by their index. Such a feature is nil. Faults is nil if all
	// can be read.
	Faults map[int]error

	// FeatureID is the ID of the feature, if the value or the event has it, also of a deleted one.
	FeatureID string

	// Event has the attributes of the CloudEvent; nil if the record is not one.
	Event *Event
}

// Open reads one record. A nil value is a delete; an empty one is not.
func (o *Opener) Open(ctx context.Context, headers []kgo.RecordHeader, value []byte) (Content, error) {
	if len(value) > o.limits.MaxBytes {
		return Content{}, fault(classify.CodeRecordTooLarge, RuleBytes, "",
			"the record has "+strconv.Itoa(len(value))+" bytes, more than "+strconv.Itoa(o.limits.MaxBytes),
			"split or simplify the feature, or raise limits.max_bytes")
	}
	if format := o.options.Format; format != Auto && format != CloudEvents { // the headers do not matter
		return o.bare(ctx, format, value)
	}
	h, err := readHeaders(headers)
	if err != nil {
		return Content{}, err
	}
	if o.options.Format == CloudEvents || h.isEvent() {
		return o.event(ctx, h, value)
	}
	format, err := detect(h, value)
	if err != nil {
		return Content{}, err
	}
	return o.bare(ctx, format, value)
}

// detect returns the format that the headers name for a record that is not a CloudEvent. If they name none, the mark of
// Avro decides. No JSON text begins with it (00 is not white space, and c3 01 is not UTF-8), so it is a statement of the
// producer and not a guess. Otherwise the record is GeoJSON.
func detect(h headers, value []byte) (Format, error) {
	switch {
	case h.contentType != "":
		return formatOfType(h.contentType, "content-type")
	case IsFramed(value):
		return Avro, nil
	}
	return GeoJSON, nil
}

// bare reads a record without an envelope.
func (o *Opener) bare(ctx context.Context, format Format, value []byte) (Content, error) {
	if value == nil {
		return Content{Delete: true}, nil
	}
	return o.data(ctx, format, value)
}

// data reads a value without an envelope.
func (o *Opener) data(ctx context.Context, format Format, value []byte) (Content, error) {
	var c Content
	var err error
	if o.options.Split == SplitFeatures && (format == GeoJSON || format == JSONFG) && transform.IsCollection(value) {
		return o.collection(format, value)
	}
	switch format {
	case JSONFG:
		c.Feature, err = o.jsonFG(value)
	case Avro:
		c.Feature, err = o.avroFeature(ctx, value)
	case Debezium:
		c, err = o.change(ctx, value)
	default:
		c.Feature, err = o.transformer.Decode(value)
	}
	if err != nil {
		return Content{}, err
	}
	c.Format = format
	if c.Feature != nil {
		c.FeatureID = c.Feature.IDString()
	}
	return c, nil
}

// collection reads the features of a FeatureCollection.
func (o *Opener) collection(format Format, value []byte) (Content, error) {
	features, err := o.features(format, value)
	switch {
	case err == nil:
		return Content{Format: format, Features: features, Text: value}, nil
	case !o.options.SeparateFeatures:
		return Content{}, err
	}
	return o.oneByOne(format, value, err)
}

// features reads the features of a FeatureCollection, all or none. A coordRefSys of the collection applies to each
// feature that has none (JSON-FG, section 7.5).
func (o *Opener) features(format Format, value []byte) ([]*transform.Feature, error) {
	c, err := o.transformer.DecodeCollection(value, o.options.MaxFeatures)
	if err != nil {
		return nil, err
	}
	if format == JSONFG {
		common, _ := transform.ObjectValue(c.Foreign...).Member("coordRefSys")
		for i, f := range c.Features {
			if err := o.toGeoJSON(f, common); err != nil {
				return nil, below(err, "", "/features/"+strconv.Itoa(i))
			}
		}
	}
	return c.Features, nil
}
