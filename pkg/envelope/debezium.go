package envelope

import (
	"context"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// change reads a change event: the row after the change, or a delete.
func (o *Opener) change(ctx context.Context, value []byte) (Content, error) {
	event, err := o.changeValue(ctx, value)
	if err != nil {
		return Content{}, err
	}
	path := ""
	if payload, has := event.Member("payload"); has { // with its schema, as the JSON converter writes by default
		if _, has := event.Member("schema"); has {
			event, path = payload, "/payload"
		}
	}
	if event.Kind() != transform.KindObject {
		return Content{}, fault(classify.CodeEnvelopeMalformed, RuleNotARecord, path, "the change event is "+article(event.Kind()),
			"send Debezium's events; a delete is a record whose value is null")
	}
	if o.options.Debezium.Unwrapped {
		return o.unwrapped(event, path)
	}
	return o.wrapped(event, path)
}

// changeValue decodes the event by its serialization.
func (o *Opener) changeValue(ctx context.Context, value []byte) (transform.Value, error) {
	if o.options.Debezium.Serialization == SerializationAvro {
		_, datum, err := o.datum(ctx, value)
		return datum, err
	}
	return transform.ParseValue(value)
}

// wrapped reads an event with before, after and op (Debezium, Change events).
func (o *Opener) wrapped(event transform.Value, path string) (Content, error) {
	op, has := event.Member("op")
	if !has {
		return Content{}, fault(classify.CodeEnvelopeMalformed, RuleOperation, path, "the change event has no op",
			"if Debezium's ExtractNewRecordState takes the row out, set source.debezium.unwrapped: true")
	}
	switch op.Text() {
	case "c", "r", "u": // created, read by a snapshot, updated
		after, _ := event.Member("after")
		if after.IsNull() {
			return Content{}, fault(classify.CodeEnvelopeMalformed, RuleOperation, path+"/after", "the event has no row after the change", "check the connector")
		}
		f, err := o.row(after, path+"/after", GeometryStruct)
		return Content{Feature: f}, err
	case "d":
		before, _ := event.Member("before") // complete only with REPLICA IDENTITY FULL
		return o.deleted(before), nil
	case "t":
		return Content{}, withValue(fault(classify.CodeEnvelopeMalformed, RuleOperation, path+"/op", "the table was truncated: the event concerns no single row",
			"set skipped.operations: t in the connector, and delete the features by their keys"), op.Text())
	}
	return Content{}, withValue(fault(classify.CodeEnvelopeMalformed, RuleOperation, path+"/op", "the op concerns no row", "send c, r, u and d only"), op.Text())
}

// unwrapped reads a row that the connector extracted from its event.
func (o *Opener) unwrapped(row transform.Value, path string) (Content, error) {
	if deleted, _ := row.Member("__deleted"); deleted.Bool() || deleted.Text() == "true" {
		return o.deleted(row), nil
	}
	columns := slices.DeleteFunc(slices.Clone(row.Members()), func(m transform.Member) bool { return strings.HasPrefix(m.Name, "__") })
	f, err := o.row(transform.ObjectValue(columns...), path, GeometryStruct)
	return Content{Feature: f}, err
}

// deleted returns a delete, with the ID if the row still has it.
func (o *Opener) deleted(before transform.Value) Content {
	id, err := rowID(before, o.options.Row, "")
	if err != nil {
		return Content{Delete: true}
	}
	return Content{Delete: true, FeatureID: id.Text()}
}
