package rewrite

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/switchback-geo/switchback/internal/replay/patch"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// assignment is one "value.field = expression".
type assignment struct {
	text       string
	pointer    jsontext.Pointer // "" is the whole value
	element    bool             // the field is an existing array element
	expression *transform.RecordExpression
}

// assigned matches an assignment: a field of value by names, ["names"] and [numbers], one equals sign, an expression.
var (
	assigned = regexp.MustCompile(`(?s)^\s*value((?:\s*(?:\.\s*[\pL_][\pL\pN_]*|\[\s*(?:"(?:[^"\\]|\\.)*"|[0-9]+)\s*\]))*)\s*=([^=].*)$`)
	oneStep  = regexp.MustCompile(`(?s)\.\s*([\pL_][\pL\pN_]*)|\[\s*("(?:[^"\\]|\\.)*"|[0-9]+)\s*\]`)
)

// maxAssignments bounds the assignments of a rewrite.
const maxAssignments = 100

func parseAssignments(texts []string) ([]assignment, error) {
	if len(texts) > maxAssignments {
		return nil, fmt.Errorf("%w: %d expressions; the maximum is %d", ErrRewrite, len(texts), maxAssignments)
	}
	var out []assignment
	for _, text := range texts {
		a, err := parseAssignment(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrRewrite, text, err)
		}
		out = append(out, a)
	}
	return out, nil
}

func parseAssignment(text string) (assignment, error) {
	parts := assigned.FindStringSubmatch(text)
	if parts == nil {
		return assignment{}, fmt.Errorf("write value.field = expression, for example value.status = upper(value.status); a name with other characters is value[\"a-b\"]")
	}
	a := assignment{text: strings.TrimSpace(text)}
	for _, step := range oneStep.FindAllStringSubmatch(parts[1], -1) {
		name := step[1]
		a.element = false
		if quoted := step[2]; strings.HasPrefix(quoted, `"`) {
			if err := json.Unmarshal([]byte(quoted), &name); err != nil {
				return a, fmt.Errorf("%s is not a JSON string", quoted)
			}
		} else if quoted != "" {
			if _, err := strconv.Atoi(quoted); err != nil {
				return a, fmt.Errorf("%s is not an index of a list", quoted)
			}
			name, a.element = quoted, true
		}
		a.pointer = a.pointer.AppendToken(name)
	}
	var err error
	a.expression, err = transform.CompileRecordExpression(strings.TrimSpace(parts[2]))
	return a, err
}

// apply returns the value with the field assigned. Other fields keep their bytes.
func (a *assignment) apply(ctx context.Context, value []byte, of *Record) ([]byte, error) {
	facts, err := facts(value, of)
	if err != nil {
		return nil, err
	}
	if of.Absent != nil {
		for _, field := range a.expression.Absent(facts.Value) {
			of.Absent(field)
		}
	}
	result, err := a.expression.Eval(facts)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrRewrite, a.text, err)
	}
	literal := result.AppendJSON(nil)
	if a.pointer == "" {
		return literal, nil
	}
	op := "add"
	if a.element {
		op = "replace" // "add" would insert an array element
	}
	pointer, err := json.Marshal(a.pointer)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrRewrite, a.text, err)
	}
	edit, err := patch.Parse(patch.Source{Patch: fmt.Appendf(nil, `[{"op":%q,"path":%s,"value":%s}]`, op, pointer, literal)})
	if err != nil {
		return nil, err
	}
	out, err := edit.Apply(ctx, value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.text, err)
	}
	return out, nil
}
