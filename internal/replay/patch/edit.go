package patch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrEdit marks an edit that is malformed or does not fit the document. Match it with errors.Is.
var ErrEdit = errors.New("edit")

// Edit changes documents. [Parse] returns one.
type Edit struct {
	patch jsonpatch.Patch // for JSON Patch and assignments
	merge json.RawMessage // for Merge Patch
	text  string
}

// Source is an edit as an operator writes it. Exactly one field is set.
type Source struct {
	Patch []byte   // RFC 6902: [{"op":"replace","path":"/properties/AREA","value":0}]
	Merge []byte   // RFC 7396: {"properties":{"AREA":0,"OLD":null}}
	Set   []string // field=value: properties.AREA=0, or with a JSON Pointer /properties/AREA=0
}

// Parse parses an edit. The error wraps [ErrEdit].
func Parse(s Source) (*Edit, error) {
	given := 0
	for _, has := range []bool{len(s.Patch) > 0, len(s.Merge) > 0, len(s.Set) > 0} {
		if has {
			given++
		}
	}
	size := len(s.Patch) + len(s.Merge)
	for _, set := range s.Set {
		size += len(set)
	}
	switch {
	case size > maxText:
		return nil, fmt.Errorf("%w: it has %d bytes; the maximum is %d", ErrEdit, size, maxText)
	case given != 1:
		return nil, fmt.Errorf("%w: give one of a JSON Patch, a Merge Patch, and assignments", ErrEdit)
	case len(s.Merge) > 0:
		return parseMerge(s.Merge)
	case len(s.Set) > 0:
		return parseSet(s.Set)
	}
	return parsePatch(s.Patch)
}

func parsePatch(text []byte) (*Edit, error) {
	p, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return nil, fmt.Errorf("%w: the JSON Patch cannot be read: %w", ErrEdit, err)
	}
	if len(p) == 0 {
		return nil, fmt.Errorf("%w: the JSON Patch has no operation", ErrEdit)
	}
	if len(p) > maxOperations {
		return nil, fmt.Errorf("%w: the JSON Patch has %d operations; the maximum is %d", ErrEdit, len(p), maxOperations)
	}
	return &Edit{patch: p, text: string(text)}, nil
}

func parseMerge(text []byte) (*Edit, error) {
	if !json.Valid(text) || bytes.TrimSpace(text)[0] != '{' {
		return nil, fmt.Errorf("%w: the Merge Patch is not a JSON object", ErrEdit)
	}
	if depthOf(text) > maxMergeDepth {
		return nil, fmt.Errorf("%w: the Merge Patch is nested more than %d deep", ErrEdit, maxMergeDepth)
	}
	return &Edit{merge: text, text: string(text)}, nil
}

// depthOf returns the nesting depth of valid JSON, but at most one more than maxMergeDepth.
func depthOf(text []byte) (deepest int) {
	in := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for deepest <= maxMergeDepth {
		if _, err := in.ReadToken(); err != nil {
			return deepest
		}
		deepest = max(deepest, in.StackDepth())
	}
	return deepest
}

// parseSet converts assignments to a JSON Patch.
func parseSet(assignments []string) (*Edit, error) {
	type operation struct {
		Op    string          `json:"op"`
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value"`
	}
	var ops []operation
	for _, text := range assignments {
		field, value, ok := strings.Cut(text, "=")
		if !ok || field == "" {
			return nil, fmt.Errorf("%w: %q is not an assignment; write field=value, for example properties.AREA=0", ErrEdit, text)
		}
		ops = append(ops, operation{Op: "add", Path: pointer(field), Value: literal(value)})
	}
	text, err := marshal(ops)
	if err != nil {
		return nil, err
	}
	edit, err := parsePatch(text)
	if err == nil {
		edit.text = strings.Join(assignments, " ")
	}
	return edit, err
}

// pointer converts a dotted field to a JSON Pointer. A field that begins with a slash is a pointer already.
func pointer(field string) string {
	if strings.HasPrefix(field, "/") {
		return field
	}
	var p jsontext.Pointer
	for part := range strings.SplitSeq(field, ".") {
		p = p.AppendToken(part)
	}
	return string(p)
}

// literal returns the value of an assignment: the JSON value if it is valid JSON, else a string.
func literal(value string) json.RawMessage {
	if json.Valid([]byte(value)) {
		return json.RawMessage(strings.TrimSpace(value))
	}
	return quoted(value)
}

// String returns the edit as it was written.
func (e *Edit) String() string { return e.text }

// Limits of an edit.
const (
	maxText       = 8 << 20  // bytes of the text of an edit
	maxOperations = 10_000   // in a JSON Patch
	maxMergeDepth = 100      // levels of a Merge Patch
	maxGrowth     = 16 << 20 // bytes that an edit may add to a document
	someAtOnce    = 100      // operations between two checks of the context
)

// Apply returns an edited copy of a document. A patch that begins by replacing the whole document accepts any value, also
// one that is not JSON, but not the absent value of a delete. The error wraps [ErrEdit] and names the operation that does
// not fit, or reports that the document would become too large.
func (e *Edit) Apply(ctx context.Context, doc []byte) ([]byte, error) {
	p, out := e.patch, doc
	if whole := e.replacement(); whole != nil && doc != nil {
		p, out = p[1:], whole
	} else if !json.Valid(doc) {
		return nil, fmt.Errorf("%w: the value is not JSON; change its bytes by a program (--filter 'sed …'), or replace the whole value (--patch '[{\"op\":\"replace\",\"path\":\"\",\"value\":…}]')", ErrEdit)
	}
	if e.merge != nil {
		ops, err := mergeOperations(doc, e.merge)
		if err != nil {
			return nil, err
		}
		if p, err = jsonpatch.DecodePatch(ops); len(ops) > 0 && err != nil {
			return nil, fmt.Errorf("%w: %w", ErrEdit, err)
		}
		if len(ops) == 0 {
			return bytes.Clone(doc), nil
		}
	}
	options := jsonpatch.NewApplyOptions()
	options.EscapeHTML = false
	options.AccumulatedCopySizeLimit = maxGrowth
	for some := range slices.Chunk(p, someAtOnce) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if out, err = some.ApplyWithOptions(out, options); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrEdit, err)
		}
		if len(out) > len(doc)+maxGrowth {
			return nil, fmt.Errorf("%w: the result has %d bytes and the value %d; an edit may add at most %d", ErrEdit, len(out), len(doc), maxGrowth)
		}
	}
	return out, nil
}

// replacement returns the value with which the first operation replaces the whole document, or nil.
func (e *Edit) replacement() json.RawMessage {
	if len(e.patch) == 0 {
		return nil
	}
	first := e.patch[0]
	path, err := first.Path()
	value := first["value"]
	if err != nil || path != "" || value == nil || first.Kind() != "replace" && first.Kind() != "add" {
		return nil
	}
	return bytes.Clone(*value)
}
