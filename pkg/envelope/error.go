package envelope

import (
	"errors"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
	"github.com/switchback-geo/switchback/pkg/geometry"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Rule is what an envelope broke, more precisely than its code. The list is closed. Faults inside GeoJSON, WKB or Avro
// have the rules of those packages.
type Rule string

// The rules.
const (
	RuleBytes         Rule = "max_bytes"
	RuleContentType   Rule = "content_type"   // a content type that belongs to no supported format
	RuleHeader        Rule = "header"         // a header that occurs twice or is not UTF-8
	RuleSpecVersion   Rule = "specversion"    // CloudEvents 1.0
	RuleAttribute     Rule = "attribute"      // a mandatory attribute of a CloudEvent
	RuleBatch         Rule = "batch"          // one record is one event
	RuleEventData     Rule = "event_data"     // data, or data_base64, and not both
	RuleEventTime     Rule = "event_time"     // RFC 3339
	RuleFraming       Rule = "framing"        // neither framing of Avro
	RuleSchemaID      Rule = "schema_id"      // an unknown schema
	RuleNotARecord    Rule = "not_a_record"   // a row is a record
	RuleColumn        Rule = "column"         // a column that is missing or has another type
	RuleOperation     Rule = "operation"      // an op of Debezium that concerns no row
	RuleSRIDConflict  Rule = "srid_conflict"  // the struct and the EWKB in it have different SRIDs
	RuleEmptyGeometry Rule = "empty_geometry" // POINT EMPTY in a MultiPoint
	RulePlaceType     Rule = "place_type"     // a type of JSON-FG that GeoJSON cannot represent
	RulePlaceCRS      Rule = "place_crs"      // coordRefSys
	RulePlaceMeasures Rule = "place_measures" // measures of JSON-FG
	RuleTime          Rule = "time"           // time of JSON-FG
	RuleEventMember   Rule = "event_member"   // a member of the published event that does not match its schema
	RuleRecordKey     Rule = "record_key"     // a record key that is neither JSON nor Avro, or lacks the part that is read
	RuleEventCRS      Rule = "event_crs"      // coordinates that the published event cannot have
)

// Rules lists every [Rule].
func Rules() []Rule {
	return []Rule{
		RuleBytes, RuleContentType, RuleHeader, RuleSpecVersion, RuleAttribute, RuleBatch, RuleEventData, RuleEventTime, RuleFraming,
		RuleSchemaID, RuleNotARecord, RuleColumn, RuleOperation, RuleSRIDConflict, RuleEmptyGeometry, RulePlaceType, RulePlaceCRS,
		RulePlaceMeasures, RuleTime, RuleEventMember, RuleRecordKey, RuleEventCRS,
	}
}

// fault returns an error of the decode stage.
func fault(code classify.Code, rule Rule, path, message, fix string) *transform.Error {
	return &transform.Error{Code: code, Stage: classify.StageDecode, Rule: string(rule), Path: path, Message: message, Fix: fix}
}

// withValue adds the offending value to a fault.
func withValue(e *transform.Error, value string) *transform.Error {
	e.Value = shorten.Text(value)
	return e
}

// geometryFault converts the error of a geometry to a *transform.Error.
func geometryFault(err error, path string) error {
	var g *geometry.Error
	if !errors.As(err, &g) {
		return err
	}
	return &transform.Error{
		Code: g.Code, Stage: g.FailureStage(), Rule: string(g.Rule), Path: path, Value: g.Value, Message: strings.TrimSuffix(g.Error(), "; "+g.Fix),
		Fix: g.Fix, Err: err,
	}
}

// avroFault converts the error of a datum to a *transform.Error.
func avroFault(err error) error {
	var a *avro.DecodeError
	if !errors.As(err, &a) {
		return err
	}
	return &transform.Error{
		Code: a.Code, Stage: classify.StageDecode, Rule: a.Rule, Path: a.Path, Message: strings.TrimSuffix(a.Error(), "; "+a.Fix), Fix: a.Fix,
		Offset: int64(a.Offset), Err: err,
	}
}

// below moves the path of a fault into another member: it replaces the prefix old by path. The place in the text is
// lost, because it is relative to the part.
func below(err error, old, path string) error {
	var e *transform.Error
	if !errors.As(err, &e) {
		return err
	}
	if rest, inside := strings.CutPrefix(e.Path, old); inside {
		e.Path = path + rest
	} else {
		e.Path = path
	}
	e.Line, e.Column, e.Offset = 0, 0, 0
	return err
}
