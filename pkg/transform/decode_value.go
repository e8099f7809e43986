package transform

import "github.com/switchback-geo/switchback/pkg/classify"

// ParseValue reads one JSON value as strictly as [Transformer.Decode] reads a
// record, with the default [Limits]. The errors are [*Error].
func ParseValue(json []byte) (Value, error) {
	limits := Limits{}.withDefaults()
	if len(json) > limits.MaxBytes {
		return Value{}, &Error{Code: classify.CodeRecordTooLarge, Stage: classify.StageDecode, Rule: string(RuleBytes),
			Message: "the text has " + decimal(len(json)) + " bytes, more than " + decimal(limits.MaxBytes), Fix: "send less"}
	}
	var r reader
	r.receive(json, limits)
	r.tokens()
	value, err := r.value()
	if err != nil {
		return Value{}, err
	}
	if err := r.end(); err != nil {
		return Value{}, err
	}
	return value, nil
}
