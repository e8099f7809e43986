package config

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// maxDepth limits the nesting of mappings and lists.
const maxDepth = 32

// decoder writes a YAML tree into Go values and collects all faults. It does not stop at the first fault. A value that
// cannot be read keeps its default, and origins marks it as unreadable.
type decoder struct {
	faults   *Faults
	origins  *origins
	variable string // set while the decoder reads the value of an environment variable
	foreign  bool   // the document is not a pipeline file
	depth    int
}

// Decode reads one strict YAML document that is not a pipeline file, such as a scenario of `consumer simulate`. It fills
// in the defaults and writes the values into the struct that into points to. The fields of the struct have the tags of
// this package: yaml, jsonschema, least, most.
//
// Decode calls check if every value could be read and check is not nil. check reports faults that go beyond the form of
// a single value. Its paths have the form providers[0].latency. The error is a [*Faults] that lists every fault.
// Environment variables do not override anything here, so that such a file means the same for every user.
func Decode(name string, text []byte, into any, check func(fault func(path, message, fix string))) error {
	d := &decoder{faults: &Faults{Name: name}, origins: newOrigins(), foreign: true}
	root := reflect.ValueOf(into).Elem()
	if !d.document(text, root) {
		return d.faults.err()
	}
	d.missing("", root)
	if check != nil && len(d.faults.List) == 0 {
		check(func(path, message, fix string) {
			at := d.origins.nearest(path)
			d.fault(path, at.line, at.column, message, fix)
		})
	}
	return d.faults.err()
}

// fault adds a fault of path at the given position and marks path as unreadable.
func (d *decoder) fault(path string, line, column int, message, fix string) {
	d.origins.markUnreadable(path)
	f := Fault{Line: line, Column: column, Path: path, Message: message, Fix: fix}
	if d.variable != "" {
		f.Line, f.Column, f.Variable = 0, 0, d.variable
	}
	d.faults.add(f)
}

func (d *decoder) faultAt(path string, n ast.Node, message, fix string) {
	line, column := start(n)
	d.fault(path, line, column, message, fix)
}

// document fills in the defaults of root and reads one YAML document into it. It returns false if the text is not YAML.
// Without a tree, every further fault would be a guess.
func (d *decoder) document(text []byte, root reflect.Value) bool {
	applyDefaults(root)
	node, ok := d.parse(text)
	if node != nil {
		d.value("", node, root, rules{})
	}
	return ok
}

// parse returns the tree of a text, or nil for an empty text.
func (d *decoder) parse(text []byte) (node ast.Node, ok bool) {
	ok = true
	node = readDocument(text, func(line, column int, message, fix string) {
		ok = false
		d.fault("", line, column, message, fix)
	})
	if !ok {
		return nil, false
	}
	return node, true
}

// value decodes n into v.
func (d *decoder) value(path string, n ast.Node, v reflect.Value, r rules) {
	d.depth++
	defer func() { d.depth-- }()
	if d.depth > maxDepth {
		d.faultAt(path, n, fmt.Sprintf("nested more than %d deep", maxDepth), "nest it less deeply")
		return
	}
	switch kind := v.Kind(); {
	case !d.plain(path, n):
	case isScalar(v.Type()):
		line, column := start(n)
		d.scalar(path, line, column, readScalar(n), v, r)
	case kind == reflect.Pointer:
		target := reflect.New(v.Type().Elem())
		applyDefaults(target.Elem())
		d.value(path, n, target.Elem(), r)
		v.Set(target)
	case kind == reflect.Struct:
		d.mapping(path, n, v)
	case kind == reflect.Slice:
		d.list(path, n, v, r)
	case kind == reflect.Map:
		d.table(path, n, v, r)
	default:
		if free := d.free(path, n); free != nil {
			v.Set(reflect.ValueOf(free))
		}
	}
}

// plain refuses anchors, aliases, merge keys and tags. The value of a key must be written at that key.
func (d *decoder) plain(path string, n ast.Node) bool {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		d.faultAt(path, n, "anchors and aliases (&, *, <<) are not allowed", "write the value out")
	case *ast.TagNode:
		d.faultAt(path, n, "tags (!) are not allowed", "write the plain value; put text in quotes")
	default:
		return true
	}
	return false
}

// mapping decodes a YAML mapping into a struct.
func (d *decoder) mapping(path string, n ast.Node, v reflect.Value) {
	d.pairs(path, n, "keys "+strings.Join(namesOf(v.Type()), ", "), func(name, child string, pair *ast.MappingValueNode) {
		if k, ok := findKey(v.Type(), name); ok {
			d.value(child, pair.Value, v.Field(k.index), k.rules())
			return
		}
		line, column := start(pair.Key)
		d.unknown(child, line, column, name, v.Type())
	})
}

// table decodes a YAML mapping with free keys into a Go map.
func (d *decoder) table(path string, n ast.Node, v reflect.Value, r rules) {
	out := reflect.MakeMap(v.Type())
	d.pairs(path, n, "a mapping (key: value)", func(name, child string, pair *ast.MappingValueNode) {
		element := reflect.New(v.Type().Elem()).Elem()
		applyDefaults(element)
		d.value(child, pair.Value, element, rules{secretNeighbor: r.secretNeighbor})
		out.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), element)
	})
	if out.Len() > 0 {
		v.Set(out)
	}
}

// free returns a value of any type, such as a constant: nil, bool, int64, float64, string, []any or map[string]any.
func (d *decoder) free(path string, n ast.Node) any {
	w := readScalar(n)
	var whole int64
	number, isNumber := parseFloat(w.text)
	switch {
	case w.kind == listValue:
		var out []any
		d.list(path, n, reflect.ValueOf(&out).Elem(), rules{})
		return out
	case w.kind == mappingValue:
		out := map[string]any{}
		d.table(path, n, reflect.ValueOf(&out).Elem(), rules{})
		return out
	case w.kind == boolValue:
		return w.text == "true"
	case w.isText():
		return w.text
	case w.kind == nullValue:
		return nil
	case assign(reflect.ValueOf(&whole).Elem(), w):
		return whole
	case isNumber:
		return number
	}
	d.faultAt(path, n, "expected a value, found "+w.describe(false), "write a plain decimal number, or put text in quotes")
	return nil
}

// pairs calls each for every key of a mapping, with its name and path, and reports duplicate keys.
func (d *decoder) pairs(path string, n ast.Node, want string, each func(name, child string, pair *ast.MappingValueNode)) {
	pairs, ok := pairsOf(n)
	if !ok {
		d.faultAt(path, n, "expected "+want+", found "+readScalar(n).describe(false), "write the keys below it, indented, or remove it")
		return
	}
	first := map[string]int{}
	for _, pair := range pairs {
		name, ok := keyName(pair.Key)
		line, column := start(pair.Key)
		child := join(path, name)
		switch {
		case !d.plain(path, pair.Key):
		case !ok:
			d.faultAt(path, pair.Key, "a key that is not plain text", "write the key as a word")
		case first[name] != 0:
			d.fault(child, line, column, fmt.Sprintf("written twice, first in line %d", first[name]), "keep one of the two")
		default:
			first[name] = line
			d.note(child, pair.Key, pair.Value)
			each(name, child, pair)
		}
	}
}

// note records the position of path.
func (d *decoder) note(path string, key, value ast.Node) {
	at := place{variable: d.variable}
	if d.variable == "" {
		at.line, at.column = start(value)
		at.keyLine, at.keyColumn = start(key)
	}
	d.origins.note(path, at)
}

// list decodes a YAML list into a slice.
func (d *decoder) list(path string, n ast.Node, v reflect.Value, r rules) {
	sequence, ok := n.(*ast.SequenceNode)
	if !ok {
		found, fix := readScalar(n), "write it as a list"
		if found.isValue() && isScalar(v.Type().Elem()) {
			fix = "write [" + cmp.Or(Nearest(found.text, r.words), found.text) + "]"
		}
		d.faultAt(path, n, "expected "+expected(v.Type())+", found "+found.describe(false), fix)
		return
	}
	out := makeList(v.Type(), len(sequence.Values))
	for i, item := range sequence.Values {
		child := entry(path, i)
		d.note(child, item, item)
		applyDefaults(out.Index(i))
		d.value(child, item, out.Index(i), r.ofElement())
	}
	v.Set(out)
	line, column := start(n)
	d.checkList(path, line, column, out, r)
}

// makeList returns a slice of n entries, or nil if n is 0, so that equal files decode to equal configurations.
func makeList(t reflect.Type, n int) reflect.Value {
	if n == 0 {
		return reflect.Zero(t)
	}
	return reflect.MakeSlice(t, n, n)
}

// checkList checks a list against its rules.
func (d *decoder) checkList(path string, line, column int, list reflect.Value, r rules) {
	if list.Len() < r.minItems {
		d.fault(path, line, column, fmt.Sprintf("has %d entries, needs at least %d", list.Len(), r.minItems), "add one or remove the key")
	}
	if r.maxItems > 0 && list.Len() > r.maxItems {
		d.fault(path, line, column, fmt.Sprintf("has %d entries, may have %d", list.Len(), r.maxItems), "remove some")
	}
	first := map[any]int{}
	for i := 0; r.unique && i < list.Len(); i++ {
		child, value := entry(path, i), list.Index(i).Interface()
		if before, doubled := first[value]; doubled && d.origins.usable(child) {
			at := d.origins.nearest(child)
			d.fault(child, at.line, at.column, fmt.Sprintf("%v is listed twice, first as entry %d", value, before+1), "keep one of the two")
			continue
		}
		first[value] = i
	}
}

// pairsOf returns the pairs of a mapping node.
func pairsOf(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch m := n.(type) {
	case *ast.MappingNode:
		_, glued := gluedText(n)
		return m.Values, !glued
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}, true
	}
	return nil, false
}

// keyName returns the text of a key. It returns false for an alias, a merge key or a key that is itself a mapping.
func keyName(n ast.MapKeyNode) (string, bool) {
	switch k := n.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// missing reports every absent mandatory key below v, at the line of its parent. If a whole mapping is absent, missing
// reports only the mapping.
func (d *decoder) missing(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			d.missing(path, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			d.missing(entry(path, i), v.Index(i))
		}
	case reflect.Struct:
		for _, k := range keysOf(v.Type()) {
			child := join(path, k.name)
			switch {
			case !k.rules().required || d.origins.written(child):
				d.missing(child, v.Field(k.index))
			case !d.origins.unreadable[path]: // the keys of an unreadable parent are unknown
				at := d.origins.nearest(path)
				d.origins.markUnreadable(child)
				d.faults.add(Fault{
					Line: at.keyLine, Column: at.keyColumn, Variable: at.variable, Path: child,
					Message: "is mandatory and missing", Fix: "add " + exampleOf(k),
				})
			}
		}
	default: // a single value has no keys below it
	}
}

// exampleOf returns an example of a mandatory key for a message.
func exampleOf(k key) string {
	switch {
	case k.tag.Get("example") != "":
		return k.name + ": " + k.tag.Get("example")
	case k.typ.Kind() != reflect.Struct:
		return k.name + " with " + expected(k.typ)
	}
	var inside []string
	for _, sub := range keysOf(k.typ) {
		if sub.rules().required {
			inside = append(inside, sub.name)
		}
	}
	return k.name + ": with " + strings.Join(inside, ", ") + " below it"
}
