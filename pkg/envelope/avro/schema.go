package avro

import (
	"fmt"
	"strings"
	"sync"

	"github.com/linkedin/goavro/v2"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// Schema is a parsed schema. It is safe for concurrent use.
type Schema struct {
	root      *node
	canonical string
	codec     func() (*goavro.Codec, error)
}

// kind is the type of a node, in the words of the specification.
type kind string

const (
	kindNull    kind = "null"
	kindBoolean kind = "boolean"
	kindInt     kind = "int"
	kindLong    kind = "long"
	kindFloat   kind = "float"
	kindDouble  kind = "double"
	kindBytes   kind = "bytes"
	kindString  kind = "string"
	kindRecord  kind = "record"
	kindEnum    kind = "enum"
	kindArray   kind = "array"
	kindMap     kind = "map"
	kindFixed   kind = "fixed"
	kindUnion   kind = "union"
)

func isPrimitive(word string) bool {
	switch kind(word) {
	case kindNull, kindBoolean, kindInt, kindLong, kindFloat, kindDouble, kindBytes, kindString:
		return true
	default:
		return false
	}
}

// node is one type of a schema. All references to a named type share one node.
type node struct {
	kind     kind
	name     string // fullname of a record, an enum or a fixed
	fields   []field
	symbols  []string
	items    *node // of an array or a map
	branches []*node
	size     int // of a fixed
	logical  logical
	scale    int // of a decimal
}

type field struct {
	name     string
	node     *node
	fallback []byte // default as JSON; nil if the field has none
}

// SchemaError describes why a schema cannot be used.
type SchemaError struct {
	// Path is the position in the schema, as a JSON pointer.
	Path string

	// Message describes the fault.
	Message string

	// Err is the cause, or nil.
	Err error
}

// Error returns the message and the path in one line.
func (e *SchemaError) Error() string {
	text := "the schema cannot be used: " + e.Message
	if e.Path != "" {
		text += " at " + e.Path
	}
	return text
}

// Unwrap returns the cause.
func (e *SchemaError) Unwrap() error { return e.Err }

// Parse parses a schema. References are the texts of the schemas whose named types it uses. A reference must follow the
// references that it uses itself. A fault in text returns a [*SchemaError], and a fault in a reference wraps one.
func Parse(text string, references ...string) (*Schema, error) {
	p := parser{named: map[string]*node{}}
	for i, reference := range references {
		if _, err := p.parse(reference); err != nil {
			return nil, fmt.Errorf("reference %d: %w", i+1, err)
		}
	}
	root, err := p.parse(text)
	if err != nil {
		return nil, err
	}
	s := &Schema{root: root, canonical: canonical(root)}
	s.codec = sync.OnceValues(func() (*goavro.Codec, error) {
		codec, err := goavro.NewCodec(s.canonical)
		if err != nil {
			return nil, &SchemaError{Message: err.Error(), Err: err}
		}
		return codec, nil
	})
	return s, nil
}

// Name returns the fullname of a record, an enum or a fixed. It returns "" for other types.
func (s *Schema) Name() string { return s.root.name }

// Canonical returns the schema's Parsing Canonical Form.
func (s *Schema) Canonical() string { return s.canonical }

// Encode appends native, a value in goavro's native form, to dst in the binary encoding. The native form is, for
// example, a map for a record, and a map with one member for the branch of a union. Encode writes a logical type as its
// underlying type.
func (s *Schema) Encode(dst []byte, native any) ([]byte, error) {
	codec, err := s.codec()
	if err != nil {
		return nil, err
	}
	out, err := codec.BinaryFromNative(dst, native)
	if err != nil {
		return nil, fmt.Errorf("encode as %s: %w", s.Name(), err)
	}
	return out, nil
}

// maxSchemaDepth bounds the nesting of a schema.
const maxSchemaDepth = 64

// parser parses the types of a schema and keeps the named types that it has seen.
type parser struct {
	named map[string]*node
}

func (p *parser) parse(text string) (*node, error) {
	trimmed := strings.TrimSpace(text)
	if isPrimitive(trimmed) { // a registry may hold the bare name of a primitive type
		return &node{kind: kind(trimmed)}, nil
	}
	value, err := transform.ParseValue([]byte(text))
	if err != nil {
		return nil, &SchemaError{Message: err.Error(), Err: err}
	}
	return p.node(value, "", "", 0)
}

func schemaFault(path, format string, args ...any) *SchemaError {
	return &SchemaError{Path: path, Message: fmt.Sprintf(format, args...)}
}

// node parses one type at path in a namespace.
func (p *parser) node(v transform.Value, namespace, path string, depth int) (*node, error) {
	if depth > maxSchemaDepth {
		return nil, schemaFault(path, "types are nested deeper than %d levels", maxSchemaDepth)
	}
	switch v.Kind() {
	case transform.KindString:
		return p.reference(v.Text(), namespace, path)
	case transform.KindArray:
		return p.union(v.Items(), namespace, path, depth)
	case transform.KindObject:
		return p.object(v, namespace, path, depth)
	default:
		return nil, schemaFault(path, "a type cannot be a %s", v.Kind())
	}
}

// reference resolves the name of a type.
func (p *parser) reference(name, namespace, path string) (*node, error) {
	if isPrimitive(name) {
		return &node{kind: kind(name)}, nil
	}
	if found := p.named[fullName(name, namespace)]; found != nil {
		return found, nil
	}
	return nil, schemaFault(path, "the type %q is not defined before it is used", name)
}

func (p *parser) union(items []transform.Value, namespace, path string, depth int) (*node, error) {
	n := &node{kind: kindUnion}
	seen := map[string]bool{}
	for i, item := range items {
		at := fmt.Sprintf("%s/%d", path, i)
		branch, err := p.node(item, namespace, at, depth+1)
		if err != nil {
			return nil, err
		}
		word := branch.word()
		if branch.kind == kindUnion || seen[word] {
			return nil, schemaFault(at, "a union holds no union, and no type twice: %s", word)
		}
		seen[word] = true
		n.branches = append(n.branches, branch)
	}
	return n, nil
}

// word returns the name of a union branch: the fullname of a named type, or the kind of any other type.
func (n *node) word() string {
	if n.name != "" {
		return n.name
	}
	return string(n.kind)
}

// fullName returns the fullname of a name in a namespace (specification, section Names).
func fullName(name, namespace string) string {
	if namespace == "" || strings.Contains(name, ".") {
		return name
	}
	return namespace + "." + name
}
