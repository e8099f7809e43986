package config

import (
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// free decodes a value whose type the key leaves open, such as a constant: nil, bool, int64,
// float64, string, []any or map[string]any. It returns false after a fault.
func (d *decoder) free(path string, n ast.Node) (any, bool) {
	if sequence, ok := n.(*ast.SequenceNode); ok {
		return d.freeList(path, sequence)
	}
	if _, ok := pairsOf(n); ok {
		return d.freeTable(path, n)
	}
	w := readScalar(n)
	switch w.kind {
	case nullValue:
		return nil, true
	case boolValue:
		return w.text == "true", true
	case textValue, quotedValue:
		return w.text, true
	default:
		return d.freeNumber(path, n, w)
	}
}

func (d *decoder) freeNumber(path string, n ast.Node, w written) (any, bool) {
	if whole, err := strconv.ParseInt(w.text, 10, 64); err == nil && isDecimal(w.text) {
		return whole, true
	}
	if f, ok := parseFloat(w.text); ok {
		return f, true
	}
	d.faultAt(path, n, "expected a value, found "+w.describe(), "write a plain decimal number, or put text in quotes")
	return nil, false
}

func (d *decoder) freeList(path string, n *ast.SequenceNode) (any, bool) {
	out := make([]any, 0, len(n.Values))
	whole := true
	for i, item := range n.Values {
		value, ok := d.nested(path+"["+strconv.Itoa(i)+"]", item)
		out = append(out, value)
		whole = whole && ok
	}
	return out, whole
}

func (d *decoder) freeTable(path string, n ast.Node) (any, bool) {
	out := map[string]any{}
	whole := true
	d.pairs(path, n, "a mapping", func(name, child string, pair *ast.MappingValueNode) {
		value, ok := d.nested(child, pair.Value)
		out[name] = value
		whole = whole && ok
	})
	return out, whole
}

// nested is free one level deeper.
func (d *decoder) nested(path string, n ast.Node) (any, bool) {
	d.depth++
	defer func() { d.depth-- }()
	if d.depth > maxDepth {
		d.faultAt(path, n, "nested too deep", "write it flatter")
		return nil, false
	}
	if !d.plain(path, n) {
		return nil, false
	}
	return d.free(path, n)
}
