package rewrite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/internal/jsonschema"
	"github.com/switchback-geo/switchback/internal/replay/patch"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// ErrRewrite marks a rewrite that is malformed, or that yields no value for a record. Match it with errors.Is.
var ErrRewrite = errors.New("rewrite")

// Spec is a rewrite as an operator writes it: at most one way to change a value, and schemas for the result. Plans
// contain it.
type Spec struct {
	Set     []string        `json:"set,omitzero"`     // field=value, see [patch.Source]
	Patch   json.RawMessage `json:"patch,omitzero"`   // JSON Patch (RFC 6902)
	Merge   json.RawMessage `json:"merge,omitzero"`   // Merge Patch (RFC 7396)
	Exprs   []string        `json:"expr,omitzero"`    // value.field = expression, in order
	Program string          `json:"program,omitzero"` // shell command that reads a value and prints another one
	Network bool            `json:"network,omitzero"` // the program may use the network
	Seconds float64         `json:"seconds,omitzero"` // time limit of the program for one value; 0 is 10
	Schema  json.RawMessage `json:"schema,omitzero"`  // JSON Schema that each result must satisfy

	// Subject is a subject of a schema registry. Results are written with its latest schema. A plan stores the ID of
	// that schema in SchemaID.
	Subject  string `json:"subject,omitzero"`
	SchemaID int    `json:"schema_id,omitzero"`

	// Like is a topic whose newest values Schema describes. A plan stores their number in LikeRecords.
	Like        string `json:"like,omitzero"`
	LikeRecords int    `json:"like_records,omitzero"`
}

// Empty reports whether a spec neither changes nor checks values.
func (s *Spec) Empty() bool {
	return len(s.Set)+len(s.Patch)+len(s.Merge)+len(s.Exprs)+len(s.Program)+len(s.Schema)+len(s.Subject)+len(s.Like) == 0
}

// Record is the input of a rewrite.
type Record struct {
	Value   []byte // JSON, except for a program
	Key     string
	Headers map[string]string
	Absent  func(field string) // called for each field that an expression reads and the value does not have; may be nil
}

// Rewrite changes values. [New] returns one. It is safe for concurrent use.
type Rewrite struct {
	edit        *patch.Edit // for Set, Patch and Merge
	assignments []assignment
	program     *program
	schema      *jsonschema.Schema
	schemaID    int
	unlike      string // describes a result that does not satisfy the schema
}

// New compiles a spec. The error wraps [ErrRewrite] or [patch.ErrEdit].
func New(s Spec) (*Rewrite, error) {
	ways := 0
	for _, given := range []bool{len(s.Set) > 0, len(s.Patch) > 0, len(s.Merge) > 0, len(s.Exprs) > 0, s.Program != ""} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return nil, fmt.Errorf("%w: give one of assignments, a JSON Patch, a Merge Patch, expressions and a program", ErrRewrite)
	}
	r := &Rewrite{schemaID: s.SchemaID, unlike: "the result"}
	if s.Like != "" {
		r.unlike = fmt.Sprintf("the result differs from the newest %d values of %s: it", s.LikeRecords, s.Like)
	}
	var err error
	switch {
	case s.SchemaID < 0 || s.SchemaID > 0 && s.Subject == "":
		err = fmt.Errorf("%w: schema %d is of no subject", ErrRewrite, s.SchemaID)
	case len(s.Exprs) > 0:
		r.assignments, err = parseAssignments(s.Exprs)
	case s.Program != "":
		r.program, err = newProgram(s)
	case ways > 0:
		r.edit, err = patch.Parse(patch.Source{Set: s.Set, Patch: s.Patch, Merge: s.Merge})
	case len(s.Schema)+len(s.Subject)+len(s.Like) == 0:
		err = fmt.Errorf("%w: it changes nothing and checks nothing", ErrRewrite)
	}
	if err == nil && len(s.Schema) > 0 {
		if r.schema, err = jsonschema.Compile(s.Schema); err != nil {
			err = fmt.Errorf("%w: %w", ErrRewrite, err)
		}
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Changes reports whether the rewrite changes values, and does not only check them.
func (r *Rewrite) Changes() bool { return r.edit != nil || len(r.assignments) > 0 || r.program != nil }

// SchemaID returns the registry schema that results are written with. 0 keeps the schema of each value.
func (r *Rewrite) SchemaID() int { return r.schemaID }

// Isolated reports whether the program runs without network. Without a program it is true.
func (r *Rewrite) Isolated() bool { return r.program == nil || r.program.isolated() }

// Apply returns the new value of a record. The error wraps [ErrRewrite] or [patch.ErrEdit] if the record gets no
// value. Other errors come from the context or the system.
func (r *Rewrite) Apply(ctx context.Context, of Record) ([]byte, error) {
	value, err := of.Value, error(nil)
	switch {
	case r.program != nil:
		value, err = r.program.run(ctx, of.Value)
	case r.edit != nil:
		value, err = r.edit.Apply(ctx, of.Value)
	default:
		for _, a := range r.assignments {
			if value, err = a.apply(ctx, value, &of); err != nil {
				break
			}
		}
	}
	if err == nil && r.schema != nil {
		if err = r.schema.Check(value); err != nil {
			err = fmt.Errorf("%w: %s %w", ErrRewrite, r.unlike, err)
		}
	}
	return value, err
}

// Refused reports whether an error says why a record gets no value.
func Refused(err error) bool { return errors.Is(err, ErrRewrite) || errors.Is(err, patch.ErrEdit) }

// facts returns the facts of a record that expressions can read.
func facts(value []byte, of *Record) (transform.RecordFacts, error) {
	parsed, err := transform.ParseValue(value)
	if err != nil {
		return transform.RecordFacts{}, fmt.Errorf("%w: expressions cannot read the value: %w", ErrRewrite, err)
	}
	return transform.RecordFacts{Value: parsed, Key: of.Key, Headers: of.Headers}, nil
}

// UsualTime is the default time limit of a program for one value.
const UsualTime = 10 * time.Second

// oneLine removes the line ends between the parts of a JSON value. It returns other text unchanged.
func oneLine(value []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return value
	}
	return b.Bytes()
}
