package patch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Change is one difference between two documents.
type Change struct {
	Path   string          `json:"path"`             // JSON Pointer
	Before json.RawMessage `json:"before,omitempty"` // absent if the value was added
	After  json.RawMessage `json:"after,omitempty"`  // absent if the value was removed
}

// Limits of a comparison. A value beyond them is compared as a whole, under its own path.
const (
	maxDepth   = 100     // levels that are compared
	maxMembers = 100_000 // members of one object
	maxChanges = 1000    // changes that are returned; more counts the others
)

// Diff returns the differences between two values in the order of their paths: the first thousand, and the number
// of the others. It compares arrays of different lengths as a whole. Numbers differ if their digits do. If one of the
// values is not JSON, the difference is one change of the root that shows the differing bytes as text. The work is
// linear in the size of the values, whatever they contain.
func Diff(ctx context.Context, before, after []byte) (changes []Change, more int, err error) {
	if !json.Valid(before) || !json.Valid(after) {
		return textChanges(before, after), 0, nil
	}
	d := differ{ctx: ctx, changes: []Change{}}
	if err := d.diff("", before, after, 0); err != nil {
		return nil, 0, err
	}
	return d.changes, d.more, nil
}

const (
	textAround = 20  // bytes before and after the differing ones
	maxShown   = 400 // bytes of a text
)

// textChanges returns the bytes in which two values differ, with some around them, as JSON strings.
func textChanges(before, after []byte) []Change {
	if bytes.Equal(before, after) {
		return []Change{}
	}
	start, end, shorter := 0, 0, min(len(before), len(after))
	for start < shorter && before[start] == after[start] {
		start++
	}
	for end < shorter-start && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	shown := func(value []byte) json.RawMessage {
		from, to := max(0, start-textAround), min(len(value), len(value)-end+textAround)
		from, to = runeStart(value, from), runeStart(value, min(to, from+maxShown))
		text := readable(value[from:to])
		if from > 0 {
			text = "…" + text
		}
		if to < len(value) {
			text += "…"
		}
		return quoted(text)
	}
	return []Change{{Before: shown(before), After: shown(after)}}
}

// runeStart returns the start of the character that includes the byte at a place.
func runeStart(value []byte, at int) int {
	for i := range utf8.UTFMax {
		if at-i <= 0 || at == len(value) || utf8.RuneStart(value[at-i]) {
			return max(at-i, 0)
		}
	}
	return at
}

// readable returns a text. It writes a byte that is not UTF-8 as \xNN.
func readable(value []byte) string {
	var b strings.Builder
	for len(value) > 0 {
		r, size := utf8.DecodeRune(value)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, value[0])
		} else {
			b.WriteRune(r)
		}
		value = value[size:]
	}
	return b.String()
}

type differ struct {
	ctx     context.Context
	changes []Change
	more    int
}

func (d *differ) diff(path string, before, after json.RawMessage, depth int) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	before, after = bytes.TrimSpace(before), bytes.TrimSpace(after)
	if bytes.Equal(before, after) {
		return nil
	}
	if depth < maxDepth {
		switch {
		case isA('{', before, after):
			if a, b := membersOf(before), membersOf(after); a != nil && b != nil {
				return d.members(path, a, b, depth)
			}
		case isA('[', before, after):
			if same, err := d.elements(path, before, after, depth); same || err != nil {
				return err
			}
		}
	}
	if before, after = compact(before), compact(after); !bytes.Equal(before, after) {
		d.add(Change{Path: path, Before: before, After: after})
	}
	return nil
}

func (d *differ) add(c Change) {
	if len(d.changes) == maxChanges {
		d.more++
		return
	}
	d.changes = append(d.changes, c)
}

func isA(first byte, docs ...json.RawMessage) bool {
	return !slices.ContainsFunc(docs, func(doc json.RawMessage) bool { return len(doc) == 0 || doc[0] != first })
}

func (d *differ) members(path string, a, b map[string]json.RawMessage, depth int) error {
	names := make([]string, 0, len(a))
	names = slices.AppendSeq(names, maps.Keys(a))
	for name := range b {
		if _, has := a[name]; !has {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if err := d.diff(string(jsontext.Pointer(path).AppendToken(name)), a[name], b[name], depth+1); err != nil {
			return err
		}
	}
	return nil
}

// membersOf returns the members of an object without decoding them, or nil if there are too many.
func membersOf(doc json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	in := newDecoder(doc)
	for in.PeekKind() != '}' {
		name, err := in.ReadToken()
		if err != nil || len(out) > maxMembers {
			return nil
		}
		text := name.String()
		value, err := in.ReadValue()
		if err != nil {
			return nil
		}
		end := in.InputOffset()
		out[text] = doc[end-int64(len(value)) : end] // the last one of duplicate names counts
	}
	return out
}

// elements compares two arrays element by element. same is false if their lengths differ.
func (d *differ) elements(path string, before, after json.RawMessage, depth int) (same bool, err error) {
	x, y := newDecoder(before), newDecoder(after)
	for x.PeekKind() != ']' && y.PeekKind() != ']' {
		if !skipped(x) || !skipped(y) { // too deep for the decoder
			return false, nil
		}
	}
	if x.PeekKind() != y.PeekKind() {
		return false, nil
	}
	x, y = newDecoder(before), newDecoder(after)
	for i := 0; x.PeekKind() != ']'; i++ {
		a, ok := nextValue(x)
		b, also := nextValue(y)
		if !ok || !also {
			return false, nil
		}
		if bytes.Equal(a, b) {
			continue
		}
		if err := d.diff(path+"/"+strconv.Itoa(i), json.RawMessage(a), json.RawMessage(b), depth+1); err != nil {
			return true, err
		}
	}
	return true, nil
}

func skipped(in *jsontext.Decoder) bool { return in.SkipValue() == nil }

func nextValue(in *jsontext.Decoder) (jsontext.Value, bool) {
	v, err := in.ReadValue()
	return v, err == nil
}

// newDecoder returns a decoder after the first bracket of a valid document.
func newDecoder(doc json.RawMessage) *jsontext.Decoder {
	in := jsontext.NewDecoder(bytes.NewBuffer(doc), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	_, _ = in.ReadToken() // the bracket
	return in
}

func compact(text json.RawMessage) json.RawMessage {
	if text == nil {
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}
