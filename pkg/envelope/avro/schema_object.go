package avro

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// object parses a type that the schema writes as a JSON object.
func (p *parser) object(v transform.Value, namespace, path string, depth int) (*node, error) {
	of, _ := v.Member("type")
	if of.Kind() == transform.KindArray || of.Kind() == transform.KindObject {
		return p.node(of, namespace, path+"/type", depth+1)
	}
	switch word := kind(of.Text()); word {
	case kindRecord, kindEnum, kindFixed:
		return p.namedType(word, v, namespace, path, depth)
	case kindArray, kindMap:
		below := "items"
		if word == kindMap {
			below = "values"
		}
		of, ok := v.Member(below)
		if !ok {
			return nil, schemaFault(path, "the %s has no %s", word, below)
		}
		items, err := p.node(of, namespace, path+"/"+below, depth+1)
		return &node{kind: word, items: items}, err
	default:
		if of.Kind() != transform.KindString {
			return nil, schemaFault(path, "the type has no type")
		}
		n, err := p.reference(of.Text(), namespace, path+"/type")
		if err != nil || !isPrimitive(of.Text()) {
			return n, err
		}
		setLogical(n, v)
		return n, nil
	}
}

// namedType parses a record, an enum or a fixed.
func (p *parser) namedType(word kind, v transform.Value, namespace, path string, depth int) (*node, error) {
	name, namespace, err := nameOf(v, namespace, path)
	if err != nil {
		return nil, err
	}
	if p.named[name] != nil {
		return nil, schemaFault(path, "the type %q is defined twice", name)
	}
	n := &node{kind: word, name: name}
	p.named[name] = n // before its fields, because a record may contain itself
	switch word {
	case kindRecord:
		n.fields, err = p.fields(v, namespace, path, depth)
	case kindEnum:
		n.symbols, err = symbols(v, path)
	default:
		size, ok := v.Member("size")
		if n.size, err = strconv.Atoi(size.Text()); !ok || err != nil || n.size < 0 || n.size > 1<<20 {
			return nil, schemaFault(path+"/size", "a fixed has a size from 0 to %d", 1<<20)
		}
		setLogical(n, v)
	}
	return n, err
}

// isName reports whether a word is a valid name (specification, section Names). If dots is true, it accepts a fullname
// and applies the same grammar to each part.
func isName(word string, dots bool) bool {
	start := true
	for i := range len(word) {
		switch c := word[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z', c == '_', '0' <= c && c <= '9' && !start:
			start = false
		case c == '.' && dots && !start:
			start = true
		default:
			return false
		}
	}
	return !start
}

// nameOf returns the fullname of a type and the namespace that applies inside the type.
func nameOf(v transform.Value, enclosing, path string) (name, namespace string, err error) {
	short, _ := v.Member("name")
	namespace = enclosing
	if space, ok := v.Member("namespace"); ok {
		namespace = space.Text()
	}
	name = fullName(short.Text(), namespace)
	if short.Kind() != transform.KindString || !isName(name, true) || isPrimitive(name) {
		return "", "", schemaFault(path+"/name", "%q is not the name of a type", name)
	}
	namespace = ""
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		namespace = name[:i]
	}
	return name, namespace, nil
}

func (p *parser) fields(v transform.Value, namespace, path string, depth int) ([]field, error) {
	list, _ := v.Member("fields")
	if list.Kind() != transform.KindArray {
		return nil, schemaFault(path, "the record has no fields")
	}
	fields := make([]field, 0, len(list.Items()))
	seen := map[string]bool{}
	for i, item := range list.Items() {
		at := fmt.Sprintf("%s/fields/%d", path, i)
		name, _ := item.Member("name")
		if !isName(name.Text(), false) || seen[name.Text()] {
			return nil, schemaFault(at, "%q is not the name of a field, or occurs twice", name.Text())
		}
		seen[name.Text()] = true
		of, ok := item.Member("type")
		if !ok {
			return nil, schemaFault(at, "the field has no type")
		}
		n, err := p.node(of, namespace, at+"/type", depth+1)
		if err != nil {
			return nil, err
		}
		f := field{name: name.Text(), node: n}
		if fallback, ok := item.Member("default"); ok {
			f.fallback = fallback.AppendJSON(nil)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

func symbols(v transform.Value, path string) ([]string, error) {
	list, _ := v.Member("symbols")
	var words []string
	seen := map[string]bool{}
	for i, item := range list.Items() {
		word := item.Text()
		if item.Kind() != transform.KindString || !isName(word, false) || seen[word] {
			return nil, schemaFault(fmt.Sprintf("%s/symbols/%d", path, i), "%q is not a symbol, or occurs twice", word)
		}
		seen[word] = true
		words = append(words, word)
	}
	if len(words) == 0 {
		return nil, schemaFault(path, "the enum has no symbols")
	}
	return words, nil
}
