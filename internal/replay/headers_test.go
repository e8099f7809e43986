package replay

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Every control header is kept, set or stripped: a new one has to be put into a list.
func TestHeaders_each_control_header_is_in_one_list(t *testing.T) {
	lists := slices.Concat(KeptHeaders(), SetHeaders(), ForceHeaders(), StrippedHeaders())
	slices.Sort(lists)
	known := controlHeaders(t)
	if len(known) < 20 || !slices.Equal(lists, known) {
		t.Errorf("lists   %v\nheaders %v", lists, known)
	}
}

// controlHeaders reads the names of the control headers from the source of pkg/retrytopics.
func controlHeaders(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "pkg", "retrytopics", "headers.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && strings.HasPrefix(spec.Names[0].Name, "Header") {
			name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, name)
		}
		return true
	})
	slices.Sort(out)
	return out
}

func TestReinjected_carries_the_lists(t *testing.T) {
	headers := []kgo.RecordHeader{{Key: "ce_id", Value: []byte("1")}, {Key: "switchback-of-tomorrow", Value: []byte("x")}}
	c := control(1, "a", "v")
	c.ReplayID, c.ReplayCount, c.Sequence = "old", 3, 7
	l := deadletters.Decode(&kgo.Record{Topic: "features.dlq", Partition: 1, Key: []byte{}, Value: []byte("v"), Headers: c.AppendTo(headers)}, true)
	for name, want := range map[bool][]string{
		false: append(slices.Concat(KeptHeaders(), SetHeaders()), "ce_id"),
		true:  append(slices.Concat(KeptHeaders(), SetHeaders(), ForceHeaders()), "ce_id"),
	} {
		t.Run(fmt.Sprintf("force=%v", name), func(t *testing.T) { carries(t, destination{topic: "features"}.reinjected("new", &l, name), want) })
	}
}

func carries(t *testing.T, r *kgo.Record, want []string) {
	t.Helper()
	var got []string
	for _, h := range r.Headers {
		got = append(got, h.Key)
		if h.Key == "switchback-replay-id" && string(h.Value) != "new" || h.Key == "switchback-replay-count" && string(h.Value) != "4" {
			t.Errorf("%s is %s", h.Key, h.Value)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if r.Key == nil || len(r.Key) != 0 {
		t.Errorf("an empty key became %v", r.Key)
	}
}
