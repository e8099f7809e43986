package envelope

import (
	"context"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Content is what a record holds.
type Content struct {
	// Format is what the value was read as, without the envelope of CloudEvents.
	// It is empty for a null value.
	Format Format

	// Delete says that the feature under the record's key is deleted.
	Delete bool

	// Feature is the feature; nil for a delete.
	Feature *transform.Feature

	// FeatureID is the id of the feature, when the value or the event has it;
	// also of a deleted one.
	FeatureID string

	// Event has the attributes of the CloudEvent; nil when it is none.
	Event *Event
}

// Open reads one record. A nil value is a delete, an empty one is none.
func (o *Opener) Open(ctx context.Context, headers []kgo.RecordHeader, value []byte) (Content, error) {
	h, err := readHeaders(headers)
	if err != nil {
		return Content{}, err
	}
	if len(value) > o.limits.MaxBytes {
		return Content{}, fault(classify.CodeRecordTooLarge, RuleBytes, "",
			"the record has "+strconv.Itoa(len(value))+" bytes, more than "+strconv.Itoa(o.limits.MaxBytes),
			"split or simplify the feature, or raise limits.max_bytes")
	}
	format, err := o.formatOf(h)
	if err != nil {
		return Content{}, err
	}
	if format == CloudEvents {
		return o.event(ctx, h, value)
	}
	if value == nil {
		return Content{Delete: true}, nil
	}
	return o.data(ctx, format, value)
}

// formatOf returns what the pipeline says, or else the headers.
func (o *Opener) formatOf(h headers) (Format, error) {
	if o.options.Format != Auto {
		return o.options.Format, nil
	}
	if h.isEvent() {
		return CloudEvents, nil
	}
	if h.contentType == "" {
		return GeoJSON, nil
	}
	return formatOfType(h.contentType, "content-type")
}

// data reads what is not in an envelope, or was taken out of it.
func (o *Opener) data(ctx context.Context, format Format, value []byte) (Content, error) {
	var c Content
	var err error
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
