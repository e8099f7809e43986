package dlqindex

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/testkit/lettermodel"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// The table keeps values as JSON and headers cut; a filter finds the same letters in it as in the
// topics, so that what is previewed is what is changed.
func TestFilter_S4_6_text_and_headers_find_in_SQL_what_they_find_in_the_topics(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", deadletters.MaxHeaderValue)
	text := func(s string) deadletters.Filter { return deadletters.Filter{Text: s} }
	header := func(name string, value *string) deadletters.Filter {
		return deadletters.Filter{Headers: []deadletters.HeaderMatch{{Name: name, Value: value}}}
	}
	cases := map[string]struct {
		f    deadletters.Filter
		want string
	}{
		"text of JSON as it was written":           {text(`"a\"b"`), "json"},
		"not as it would be read":                  {text(`"a"b"`), ""},
		"text that is no JSON":                     {text("\"quoted\"\nlines"), "lines"},
		"not the form that SQL keeps it in":        {text(`\nlines`), ""},
		"text among bytes":                         {text("Straße"), "binary"},
		"not their base64":                         {text("base64"), ""},
		"a tombstone has no text":                  {text("null"), "word"},
		"deep JSON":                                {text("[[[["), "deep"},
		"a key of bytes":                           {text("key of"), "binary"},
		"a header by its name":                     {header("trace", nil), "cut long"},
		"by its value":                             {header("trace", &long), "long"},
		"no header among bytes":                    {header("raw", new("\x01")), ""},
		"bytes by their name":                      {header("raw", nil), "binary"},
		"both, which are composed with AND":        {deadletters.Filter{Text: "1", Headers: header("trace", nil).Headers}, "cut"},
		"several headers composed with OR":         {deadletters.Filter{Headers: append(header("raw", nil).Headers, header("trace", &long).Headers...)}, "binary long"},
		"a control header that may be named":       {header("switchback-care", new("yes")), "json"},
		"upper case is not the same":               {text("STRASSE"), ""},
		"a wildcard of SQL is a dead letter of it": {text("%"), "percent"},
	}
	onEngines(t, func(t *testing.T, place string) {
		w := newWorld(t, place)
		for id, r := range map[string]*kgo.Record{
			"json":    {Value: []byte(`{"x":"a\"b"}`), Headers: []kgo.RecordHeader{{Key: "switchback-care", Value: []byte("yes")}}},
			"lines":   {Value: []byte("\"quoted\"\nlines")},
			"binary":  {Key: []byte("\x00key of\xff"), Value: []byte("\x00\x0eStraße\xff"), Headers: []kgo.RecordHeader{{Key: "raw", Value: []byte("\x01\xff")}}},
			"gone":    {Value: nil},
			"word":    {Value: []byte("null")},
			"empty":   {Value: []byte{}},
			"deep":    {Value: []byte(strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1))},
			"long":    {Value: []byte("{}"), Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte(long)}}},
			"cut":     {Value: []byte("1"), Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte(long + "x")}}},
			"percent": {Value: []byte("%")},
		} {
			r.Topic, r.Timestamp = "dlq", at
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: "switchback-dead-letter-id", Value: []byte(id)})
			w.put(r)
		}
		w.sync()
		w.sound()
		for name, c := range cases {
			model := must.Get(lettermodel.Load(t.Context(), w.cl, "dlq", "status"))(t)
			if got := ids(model.Select(c.f)); got != c.want {
				t.Errorf("%s: the topics have %q, want %q", name, got, c.want)
			}
			if got := ids(w.letters(Query{Filter: c.f})); got != c.want {
				t.Errorf("%s: SQL finds %q, want %q", name, got, c.want)
			}
		}
	})
}
