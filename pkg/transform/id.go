package transform

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/internal/shorten"
	"github.com/switchback-geo/switchback/pkg/transform/internal/expression"
)

// idRule is a compiled [IDRule].
type idRule struct {
	IDRule
	path    string // of a property; "" means the source's id
	program *expression.Program[expression.Feature]
}

// idHashBytes is how much of the hash an ID has: 64 bits. Among a million versions of one feature two share an ID once
// in 37 million times.
const idHashBytes = 8

// compileID compiles the rule of the ID; it returns nil if there is none.
func compileID(rule *IDRule, faults *faultList) *idRule {
	if rule == nil {
		return nil
	}
	out := &idRule{IDRule: *rule}
	if rule.Expr != "" {
		if rule.From != "" {
			faults.add("id.from", "the rule has an expression too, so nothing is read from here", "keep from or expr")
		}
		program, err := expression.Compile[expression.Feature](rule.Expr)
		switch {
		case err != nil:
			faults.add("id.expr", err.Error(), "correct the expression; it has id, properties and geometry")
		case program.Reads.Nothing():
			faults.add("id.expr", "the expression reads nothing of the feature, so all would have one id", "name what the id depends on")
		}
		out.program = program
		return out
	}
	path, isProperty := strings.CutPrefix(rule.From, "properties.")
	switch {
	case isProperty && path != "":
		out.path = path
	case rule.From != "id":
		faults.add("id.from", "an id is read from id or from a property", `write id, or "properties." and the name`)
	case !rule.Hash:
		faults.add("id", "the rule keeps the source's id, which is the default", "add hash: true, or remove the rule")
	}
	return out
}

// TargetID returns the ID of the target feature as text. It returns "" if the source feature has nothing to make it of.
func (t *Transformer) TargetID(f *Feature) string {
	id, err := t.targetID(f)
	if err != nil {
		return ""
	}
	return (&Feature{ID: id}).IDString()
}

// targetID returns the id of the target feature.
func (t *Transformer) targetID(f *Feature) (Value, error) {
	if t.id == nil {
		return f.ID, nil
	}
	value, e := t.id.value(f)
	if e != nil {
		e.Stage, e.Rule, e.RuleLine, e.Feature = classify.StageTransform, "id", t.config.Lines["id"], f.IDString()
		return Value{}, e
	}
	if !t.id.Hash {
		return value, nil
	}
	sum := sha256.Sum256(appendSorted(nil, f.Properties))
	return StringValue((&Feature{ID: value}).IDString() + "-" + hex.EncodeToString(sum[:idHashBytes])), nil
}

// value returns the ID, or its beginning.
func (rule *idRule) value(f *Feature) (Value, *Error) {
	value, path := f.ID, "/id"
	switch {
	case rule.program != nil:
		var err error
		if value, err = eval(rule.program, f); err != nil {
			return Value{}, evalError(err)
		}
		path = ""
	case rule.path != "":
		value, _ = f.Property(rule.path)
		path = propertyPointer(strings.Split(rule.path, ".")...)
	}
	switch value.Kind() {
	case KindNumber:
		return value, nil
	case KindString:
		if value.text != "" {
			return value, nil
		}
		fallthrough
	case KindNull:
		return Value{}, &Error{Code: classify.CodeMissingRequired, Path: path, Message: "the feature has nothing to make its id of", Fix: "send it, or change the id rule"}
	default: // decided below
	}
	return Value{}, &Error{Code: classify.CodeWrongType, Path: path, Value: shorten.Text(value.AppendJSON(nil)),
		Message: "an id cannot be of type " + string(value.Kind()), Fix: "use a string or a number for the id"}
}
