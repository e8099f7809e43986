package closed_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/closed"
)

type (
	colour string
	shade  string
)

// recorder takes down what a check reports.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Errorf(f string, a ...any) { r.said = append(r.said, fmt.Sprintf(f, a...)) }

const source = `package p

type colour string

const (
	red  colour = "red"
	blue colour = "blue"
)

const other = "green"
`

func TestCheck_reportsWhatIsMissingForeignOrTwice(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"p.go": source, "p_test.go": "package p\n\nconst mauve colour = \"mauve\"\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		list closed.List
		want string
	}{
		{closed.Of([]colour{"blue", "red"}), ""},
		{closed.Of([]colour{"red"}), `the list has ["red"]`},
		{closed.Of([]colour{"red", "blue", "green"}), `the list has ["blue" "green" "red"]`},
		{closed.Of([]colour{"red", "blue", "blue"}), `the list has ["blue" "blue" "red"]`},
		{closed.Of([]shade{}), "no constant of this type"},
	} {
		r := &recorder{TB: t}
		closed.Check(r, c.list)
		if got := strings.Join(r.said, "; "); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%v: said %q, want %q", c.list, got, c.want)
		}
	}
}

func TestCheck_reportsOneWordForTwoThings(t *testing.T) {
	t.Chdir(t.TempDir())
	twice := strings.ReplaceAll(source, `"blue"`, `"red"`)
	if err := os.WriteFile("p.go", []byte(twice), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &recorder{TB: t}
	if closed.Check(r, closed.Of([]colour{"red", "red"})); len(r.said) != 1 || !strings.Contains(r.said[0], "stands for two things") {
		t.Errorf("said %q", r.said)
	}
}
