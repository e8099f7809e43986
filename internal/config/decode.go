package config

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// maxDepth bounds how deep mappings and lists may be nested.
const maxDepth = 32

// decoder writes a YAML tree into Go values and notes every fault on its way. It never stops at
// the first: a value that cannot be read keeps its default, and origins knows that it is broken.
type decoder struct {
	faults   *Faults
	origins  *origins
	variable string // set while the value of an environment variable is decoded
	foreign  bool   // what is decoded is no pipeline file
	depth    int
}

// fault notes what is wrong with path at the given place and marks it as broken.
func (d *decoder) fault(path string, line, column int, message, fix string) {
	d.origins.crack(path)
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

// document fills in the defaults of root and reads one YAML document into it. It is false when the text is no YAML: without
// a tree every further fault would be a guess.
func (d *decoder) document(text []byte, root reflect.Value) bool {
	applyDefaults(root)
	sound := true
	node := readDocument(text, func(line, column int, message, fix string) {
		sound = false
		d.fault("", line, column, message, fix)
	})
	if sound && node != nil {
		d.value("", node, root, rules{})
	}
	return sound
}

// value decodes n into v.
func (d *decoder) value(path string, n ast.Node, v reflect.Value, r rules) {
	d.depth++
	defer func() { d.depth-- }()
	if d.depth > maxDepth {
		d.faultAt(path, n, fmt.Sprintf("nested more than %d deep", maxDepth), "write it flatter")
		return
	}
	switch {
	case !d.plain(path, n):
	case isScalar(v.Type()):
		line, column := start(n)
		d.scalar(path, line, column, readScalar(n), v, r)
	case v.Kind() == reflect.Pointer:
		target := reflect.New(v.Type().Elem())
		applyDefaults(target.Elem())
		d.value(path, n, target.Elem(), r)
		v.Set(target)
	case v.Kind() == reflect.Struct:
		d.mapping(path, n, v)
	case v.Kind() == reflect.Slice:
		d.list(path, n, v, r)
	case v.Kind() == reflect.Map:
		d.table(path, n, v, r)
	default: // any
		if free, ok := d.free(path, n); ok && free != nil {
			v.Set(reflect.ValueOf(free))
		}
	}
}

// plain refuses what YAML has beyond values: what is read must be what is written at that place.
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
	d.pairs(path, n, "keys "+keyList(v.Type()), func(name, child string, pair *ast.MappingValueNode) {
		k, ok := findKey(v.Type(), name)
		if !ok {
			line, column := start(pair.Key)
			d.unknown(child, line, column, name, v.Type())
			return
		}
		d.value(child, pair.Value, v.Field(k.index), k.rules)
	})
}

// table decodes a YAML mapping with free keys into a Go map.
func (d *decoder) table(path string, n ast.Node, v reflect.Value, r rules) {
	out := reflect.MakeMap(v.Type())
	isTable := d.pairs(path, n, "a mapping (key: value)", func(name, child string, pair *ast.MappingValueNode) {
		element := reflect.New(v.Type().Elem()).Elem()
		applyDefaults(element)
		d.value(child, pair.Value, element, rules{secretNeighbor: r.secretNeighbor})
		out.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), element)
	})
	if isTable && out.Len() > 0 {
		v.Set(out)
	}
}

// pairs calls each for every key of a mapping, with its name and path, and reports doubled ones.
// It returns false when n is no mapping.
func (d *decoder) pairs(path string, n ast.Node, want string, each func(name, child string, pair *ast.MappingValueNode)) bool {
	pairs, ok := pairsOf(n)
	if !ok {
		d.faultAt(path, n, "expected "+want+", found "+readScalar(n).describe(), "write the keys below it, indented, or remove it")
		return false
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
			d.note(child, pair)
			each(name, child, pair)
		}
	}
	return true
}

// note remembers where path was written.
func (d *decoder) note(path string, pair *ast.MappingValueNode) {
	at := place{variable: d.variable}
	if d.variable == "" {
		at.line, at.column = start(pair.Value)
		at.keyLine, at.keyColumn = start(pair.Key)
	}
	d.origins.note(path, at)
}

// list decodes a YAML list into a slice.
func (d *decoder) list(path string, n ast.Node, v reflect.Value, r rules) {
	sequence, ok := n.(*ast.SequenceNode)
	if !ok {
		found := readScalar(n)
		fix := "write it as a list"
		if found.isValue() && isScalar(v.Type().Elem()) {
			fix = "write [" + cmp.Or(Nearest(found.text, r.words), found.text) + "]"
		}
		d.faultAt(path, n, "expected "+expected(v.Type())+", found "+found.describe(), fix)
		return
	}
	out := makeList(v.Type(), len(sequence.Values))
	for i, item := range sequence.Values {
		child := path + "[" + strconv.Itoa(i) + "]"
		line, column := start(item)
		at := place{line: line, column: column, keyLine: line, keyColumn: column, variable: d.variable}
		d.origins.note(child, at)
		applyDefaults(out.Index(i))
		d.value(child, item, out.Index(i), r.ofElement())
	}
	v.Set(out)
	line, column := start(n)
	d.checkList(path, line, column, out, r)
}

// makeList makes a list of n entries; one without any is nil, so that equal files give equal configurations.
func makeList(t reflect.Type, n int) reflect.Value {
	if n == 0 {
		return reflect.Zero(t)
	}
	return reflect.MakeSlice(t, n, n)
}

// checkList holds a list against its rules.
func (d *decoder) checkList(path string, line, column int, list reflect.Value, r rules) {
	if list.Len() < r.minItems {
		d.fault(path, line, column, fmt.Sprintf("has %d entries, needs at least %d", list.Len(), r.minItems), "add one or remove the key")
	}
	if r.maxItems > 0 && list.Len() > r.maxItems {
		d.fault(path, line, column, fmt.Sprintf("has %d entries, may have %d", list.Len(), r.maxItems), "remove some")
	}
	if !r.unique {
		return
	}
	first := map[any]int{}
	for i := range list.Len() {
		child := path + "[" + strconv.Itoa(i) + "]"
		value := list.Index(i).Interface()
		if before, doubled := first[value]; doubled && d.origins.sound(child) {
			at := d.origins.near(child)
			d.fault(child, at.line, at.column, fmt.Sprintf("%v is listed twice, first as entry %d", value, before+1), "keep one of the two")
			continue
		}
		first[value] = i
	}
}

// pairsOf gives the pairs of a mapping node.
func pairsOf(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch m := n.(type) {
	case *ast.MappingNode:
		if _, ok := gluedText(n); ok {
			return nil, false
		}
		return m.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}, true
	}
	return nil, false
}

// keyName is the text of a key; false for an alias, a merge key or a key that is itself a mapping.
func keyName(n ast.MapKeyNode) (string, bool) {
	switch k := n.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func join(path, name string) string {
	if name == "" {
		name = `""` // the empty key, which a mapping with free keys may have
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func keyList(t reflect.Type) string {
	return strings.Join(namesOf(t), ", ")
}
