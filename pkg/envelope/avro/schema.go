package avro

import (
	"fmt"
	"strings"
	"sync"

	"github.com/linkedin/goavro/v2"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// Schema is a parsed schema. It may be used by many goroutines at once.
type Schema struct {
	root      *node
	canonical string
	codec     func() (*goavro.Codec, error)
}

// kind is the type of a node; its words are those of the specification.
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

// node is one type of a schema. A named type that is referred to is one node.
type node struct {
	kind     kind
	name     string // fullname of a record, an enum, a fixed
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
	fallback []byte // JSON of the default; nil when there is none
}

// SchemaError says why a schema cannot be used.
type SchemaError struct {
	// Path is where in the schema, as a JSON pointer.
	Path string

	// Message says what is wrong.
	Message string

	// Err is the cause, when there is one.
	Err error
}

// Error returns one line.
func (e *SchemaError) Error() string {
	text := "the schema cannot be used: " + e.Message
	if e.Path != "" {
		text += " at " + e.Path
	}
	return text
}

// Unwrap returns the cause.
func (e *SchemaError) Unwrap() error { return e.Err }

// Parse reads a schema. References are the texts of schemas whose named types
// it uses, each after those that it uses itself. The error is a [*SchemaError].
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

// Name returns the fullname of a record, an enum or a fixed, "" of any other.
func (s *Schema) Name() string { return s.root.name }

// Canonical returns the schema's Parsing Canonical Form.
func (s *Schema) Canonical() string { return s.canonical }

// Encode writes data in the native form of goavro: a map for a record, a map of
// one member for the branch of a union, and so on. Logical types are written as
// the type below them.
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

// parser reads the types of a schema and knows those that have a name.
type parser struct {
	named map[string]*node
}

func (p *parser) parse(text string) (*node, error) {
	trimmed := strings.TrimSpace(text)
	if isPrimitive(trimmed) { // a registry may hold the bare word
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

// node reads one type, which stands at path inside of a namespace.
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
		return nil, schemaFault(path, "a type is no %s", v.Kind())
	}
}

// reference reads the name of a type.
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

// word is the name of a branch: the fullname, or the word of the type.
func (n *node) word() string {
	if n.name != "" {
		return n.name
	}
	return string(n.kind)
}

// fullName resolves a name (specification, section Names).
func fullName(name, namespace string) string {
	if namespace == "" || strings.Contains(name, ".") {
		return name
	}
	return namespace + "." + name
}
