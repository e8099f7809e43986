package envelope

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Event holds the attributes of a CloudEvent (specification 1.0.2, section Context Attributes). ID and Source together
// identify the event: a copy has the same.
type Event struct {
	ID, Source, Type string

	// Subject, Time (RFC 3339), DataContentType and DataSchema are "" if the event has none.
	Subject, Time, DataContentType, DataSchema string
}

// event reads a CloudEvent in either mode.
func (o *Opener) event(ctx context.Context, h headers, value []byte) (Content, error) {
	if h.isStructured() && value != nil {
		return o.structured(ctx, h, value)
	}
	if value == nil && len(h.attributes) == 0 { // a delete without an event
		return Content{Delete: true}, nil
	}
	h.attributes["datacontenttype"] = h.contentType
	event, err := eventOf(h.attributes, "the header "+attributePrefix)
	if err != nil {
		return Content{}, err
	}
	if value == nil { // a delete in a compacted topic: Kafka Protocol Binding, section 3.2.3
		return Content{Delete: true, FeatureID: event.Subject, Event: event}, nil
	}
	format, err := o.dataFormat(event)
	if err != nil {
		return Content{}, err
	}
	c, err := o.data(ctx, format, value)
	c.Event = event
	return c, err
}

// dataFormat returns the format of an event's data.
func (o *Opener) dataFormat(event *Event) (Format, error) {
	switch {
	case o.options.Data != "":
		return o.options.Data, nil
	case event.DataContentType == "": // "implies application/json"
		return GeoJSON, nil
	}
	return formatOfType(event.DataContentType, "the data content type")
}

// eventOf checks the attributes that are used here.
func eventOf(attributes map[string]string, where string) (*Event, error) {
	if version, is := attributes["specversion"]; version != "1.0" {
		message := where + "specversion is missing"
		if is {
			message = where + "specversion is another version"
		}
		return nil, withValue(fault(classify.CodeEnvelopeMalformed, RuleSpecVersion, "", message, "send CloudEvents 1.0"), version)
	}
	for _, name := range []string{"id", "source", "type"} {
		if attributes[name] == "" {
			return nil, fault(classify.CodeEnvelopeMalformed, RuleAttribute, "", where+name+" is missing or empty",
				"every CloudEvent has id, source and type")
		}
	}
	if when := attributes["time"]; when != "" {
		if _, err := transform.ParseRFC3339(strings.ToUpper(when)); err != nil {
			return nil, withValue(fault(classify.CodeEnvelopeMalformed, RuleEventTime, "", where+"time is not a time of RFC 3339",
				"write it as 2026-11-03T04:05:06Z"), when)
		}
	}
	return &Event{
		ID: attributes["id"], Source: attributes["source"], Type: attributes["type"], Subject: attributes["subject"], Time: attributes["time"],
		DataContentType: attributes["datacontenttype"], DataSchema: attributes["dataschema"],
	}, nil
}

// structured reads an event that is one JSON object.
func (o *Opener) structured(ctx context.Context, h headers, value []byte) (Content, error) {
	media, _, _ := strings.Cut(strings.ToLower(h.contentType), ";")
	switch media = strings.TrimSpace(media); media {
	case "application/cloudevents+json", "application/cloudevents":
	case "application/cloudevents-batch+json":
		return Content{}, withValue(fault(classify.CodeEnvelopeMalformed, RuleBatch, "", "the record is a batch of events",
			"send each event as a record of its own; the Kafka binding has no batches"), h.contentType)
	default:
		return Content{}, withValue(fault(classify.CodeEnvelopeMalformed, RuleContentType, "", "the event is in a format that is not supported",
			"send application/cloudevents+json, or the binary mode"), h.contentType)
	}
	e, err := o.readEvent(value)
	if err != nil {
		return Content{}, err
	}
	event, err := eventOf(e.attributes, "")
	if err != nil {
		return Content{}, err
	}
	data, isJSON, err := e.payload()
	if err != nil {
		return Content{}, err
	}
	format, err := o.dataFormat(event)
	if err != nil {
		return Content{}, err
	}
	if isJSON && (format == Avro || format == Debezium && o.options.Debezium.Serialization == SerializationAvro) {
		return Content{}, fault(classify.CodeEnvelopeMalformed, RuleEventData, "/data", "the data is JSON, and Avro is bytes", "send it as data_base64")
	}
	c, err := o.data(ctx, format, data)
	if err != nil {
		if isJSON {
			return Content{}, relocate(err, value, e.at)
		}
		return Content{}, below(err, "", "/data_base64")
	}
	c.Event = event
	return c, nil
}

// jsonEvent is an event as JSON, before its data is read.
type jsonEvent struct {
	attributes map[string]string
	data       []byte // as written; nil if there is none
	at         int    // where it begins
	base64     *string
}

// readEvent splits a JSON event. It leaves the data as written; the reader of the data checks it, with its place.
func (o *Opener) readEvent(text []byte) (jsonEvent, error) {
	e := jsonEvent{attributes: map[string]string{}}
	d := jsontext.NewDecoder(strings.NewReader(string(text)))
	if d.PeekKind() != '{' {
		if d.PeekKind() == '[' {
			return e, fault(classify.CodeEnvelopeMalformed, RuleBatch, "", "the record is an array, which is a batch of events", "send each event as a record of its own")
		}
		return e, o.notJSON(text, "the event is not a JSON object")
	}
	if _, err := d.ReadToken(); err != nil {
		return e, o.notJSON(text, err.Error())
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return e, o.notJSON(text, err.Error())
		}
		word := name.String()
		raw, err := d.ReadValue()
		if err != nil {
			return e, o.notJSON(text, err.Error())
		}
		if err := e.member(word, raw, int(d.InputOffset())-len(raw)); err != nil {
			return e, err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return e, o.notJSON(text, err.Error())
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return e, o.notJSON(text, "data follows the event")
	}
	return e, nil
}

// notJSON returns the error of the strict reader, which has the codes.
func (o *Opener) notJSON(text []byte, otherwise string) error {
	if _, err := transform.ParseValue(text); err != nil {
		return err
	}
	return fault(classify.CodeEnvelopeMalformed, RuleEventData, "", otherwise, "send one CloudEvent as a JSON object")
}

// member stores one member of the event.
func (e *jsonEvent) member(name string, raw []byte, at int) error {
	switch name {
	case "data":
		e.data, e.at = slices.Clone(raw), at
		return nil
	case "data_base64":
		text, err := transform.ParseValue(raw)
		if err != nil || text.Kind() != transform.KindString {
			return fault(classify.CodeEnvelopeMalformed, RuleEventData, "/data_base64", "data_base64 is not a string", "write the bytes in base64")
		}
		word := text.Text()
		e.base64 = &word
		return nil
	}
	if lower := strings.ToLower(name); lower != name {
		return withValue(fault(classify.CodeEnvelopeMalformed, RuleAttribute, "", "the name of an attribute has capital letters",
			"the names of CloudEvents attributes are in small letters"), name)
	}
	value, err := transform.ParseValue(raw)
	if err != nil {
		return below(err, "", "/"+name)
	}
	switch value.Kind() {
	case transform.KindArray, transform.KindObject:
		return fault(classify.CodeEnvelopeMalformed, RuleAttribute, "/"+name, "an attribute is an array or an object", "an attribute is a string, a number or a boolean")
	case transform.KindString:
	default:
		switch name {
		case "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema":
			if !value.IsNull() { // null means absent
				return withValue(fault(classify.CodeEnvelopeMalformed, RuleAttribute, "/"+name, "the attribute is not a string", "write it in quotes"), value.Text())
			}
		}
	}
	e.attributes[name] = value.Text()
	return nil
}

// payload returns the data of the event and whether it is JSON.
func (e *jsonEvent) payload() (data []byte, isJSON bool, err error) {
	switch {
	case e.data != nil && e.base64 != nil:
		return nil, false, fault(classify.CodeEnvelopeMalformed, RuleEventData, "/data", "the event has both data and data_base64", "send one of them")
	case e.base64 != nil:
		data, err := base64.StdEncoding.Strict().DecodeString(*e.base64)
		if err != nil {
			return nil, false, withValue(fault(classify.CodeEnvelopeMalformed, RuleEventData, "/data_base64", "data_base64 is not base64: "+err.Error(),
				"write the padded base64 of RFC 4648 section 4"), *e.base64)
		}
		return data, false, nil
	case e.data == nil || string(e.data) == "null":
		return nil, false, fault(classify.CodeEnvelopeMalformed, RuleEventData, "/data", "the event has no data",
			"send the feature as data; a delete is a record whose value is null")
	}
	return e.data, true, nil
}

// relocate converts the place of a fault in an event's data to its place in the record.
func relocate(err error, text []byte, at int) error {
	var e *transform.Error
	if !errors.As(err, &e) {
		return err
	}
	e.Path = "/data" + e.Path
	if e.Line == 0 {
		return err
	}
	before := string(text[:at])
	if e.Line == 1 {
		e.Column += len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
	}
	e.Line += strings.Count(before, "\n")
	e.Offset += int64(at)
	return err
}
