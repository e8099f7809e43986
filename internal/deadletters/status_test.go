package deadletters

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// constantsOf returns the values of the constants of one string type, as the source has them.
func constantsOf(t *testing.T, file, typeName string) []string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		id, ok := spec.Type.(*ast.Ident)
		if !ok || id.Name != typeName {
			return true
		}
		for _, v := range spec.Values {
			text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, text)
		}
		return true
	})
	return values
}

func sameSet[T ~string](t *testing.T, inSource []string, listed []T) {
	t.Helper()
	var have []string
	for _, v := range listed {
		have = append(have, string(v))
	}
	slices.Sort(have)
	slices.Sort(inSource)
	if len(inSource) == 0 || !slices.Equal(inSource, have) {
		t.Errorf("constants in the source %v, listed %v", inSource, have)
	}
}

func TestStatuses_is_the_closed_list_of_the_source(t *testing.T) {
	sameSet(t, constantsOf(t, "status.go", "Status"), Statuses())
}

func TestDialects_is_the_closed_list_of_the_source(t *testing.T) {
	sameSet(t, constantsOf(t, "letter.go", "Dialect"), Dialects())
}

// The whole table: what is not in it is illegal.
func TestStatus_transitions(t *testing.T) {
	legal := map[Status][]Status{
		Pending:     {Replaying, Discarded, Escalated, Duplicate, Superseded},
		Replaying:   {Reprocessed, Pending, Escalated, Duplicate, Superseded, Discarded},
		Escalated:   {Pending},
		Discarded:   {Pending},
		Reprocessed: nil,
		Duplicate:   nil,
		Superseded:  nil,
	}
	for _, from := range Statuses() {
		for _, to := range Statuses() {
			if got, want := from.CanBecome(to), slices.Contains(legal[from], to); got != want {
				t.Errorf("%s -> %s: allowed %v, want %v", from, to, got, want)
			}
		}
	}
	if Status("gone").CanBecome(Pending) {
		t.Error("an unknown status may become pending")
	}
}

func TestStatus_holds_content_only_while_it_is_or_was_put_back(t *testing.T) {
	for _, s := range Statuses() {
		if got, want := s.HoldsContent(), s == Replaying || s == Reprocessed; got != want {
			t.Errorf("%s holds content: %v, want %v", s, got, want)
		}
	}
}
