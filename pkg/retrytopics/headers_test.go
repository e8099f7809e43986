package retrytopics

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestControlHeadersRoundTrip(t *testing.T) {
	c := Control{
		Attempt: 2, MaxAttempts: 5, Due: noon, FirstFailedAt: noon, FailedAt: noon, SourceTimestamp: noon,
		ErrorClass: "retry_backoff", ErrorCode: "http_unavailable", ErrorStage: "enrich", ErrorMessage: "503 from places",
		Source: Position{"features", 3, 1042}, HasSource: true, ContentHash: "sha256:00", FeatureID: "p-1", BBox: "1,2,3,4",
		RunID: "r", Pipeline: "p", DeadLetterID: "3-1042-aabbccdd", ReplayID: "x", Sequence: 7, ReplayCount: 1,
		ForceVersion: true, ReplaySource: Position{"features", 3, 2048},
		Lineage: "l", Care: "c", Sovereignty: "s",
	}
	if v := reflect.ValueOf(c); slices.ContainsFunc(fieldNames(v), func(n string) bool { return v.FieldByName(n).IsZero() }) {
		t.Fatal("this test must set every field")
	}
	got, err := ParseControl(c.AppendTo(nil))
	if err != nil || got != c {
		t.Errorf("got %+v, %v", got, err)
	}
	written := c.AppendTo(nil)
	for i, f := range c.fields() {
		h := written[i]
		if h.Key != f.key || !IsControl(h.Key) {
			t.Errorf("header %d is %s, want %s", i, h.Key, f.key)
		}
		if cap(h.Value) != len(h.Value) {
			t.Errorf("appending to the value of %s would write into the next one", h.Key)
		}
	}
}

func TestControlHeadersLeaveThoseBeforeAlone(t *testing.T) {
	c := Control{Attempt: 2, FeatureID: "p-1"}
	room := make([]kgo.RecordHeader, 1, 4)
	room[0] = kgo.RecordHeader{Key: "a", Value: []byte("1")}
	got := c.AppendTo(slices.Clip(room))
	if len(got) != 3 || got[0].Key != "a" || string(got[1].Value) != "2" || string(got[2].Value) != "p-1" {
		t.Errorf("got %v", got)
	}
	if room[:2][1].Key != "" {
		t.Error("the capacity of the given slice was written to")
	}
}

func fieldNames(v reflect.Value) (names []string) {
	for i := range v.NumField() {
		names = append(names, v.Type().Field(i).Name)
	}
	return names
}

func TestControlKnowsEveryHeaderConstant(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "headers.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{HeaderPart: true} // an output's alone; nothing of it is read back
	var c Control
	for _, f := range c.fields() {
		known[f.key] = true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && strings.HasPrefix(spec.Names[0].Name, "Header") {
			if name := strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`); !known[name] {
				t.Errorf("Control has no field for %s", name)
			}
		}
		return true
	})
}

func TestMalformedControlHeaderIsAFailureNeverZero(t *testing.T) {
	for _, c := range []struct{ key, value string }{
		{HeaderAttempt, "two"}, {HeaderAttempt, "-1"}, {HeaderAttempt, ""}, {HeaderAttempt, "\x00\x00\x00\x02"},
		{HeaderAttempt, "99999999999"}, {HeaderDue, "yesterday"}, {HeaderDue, "1782907200"}, {HeaderSource, "features/3"},
		{HeaderSource, "features/3/-1"}, {HeaderReplayCount, "1.5"}, {HeaderFeatureID, "\xff"},
		{HeaderForceVersion, "yes"}, {HeaderForceVersion, ""}, {HeaderForceVersion, "True"}, {HeaderForceVersion, "false"}, {HeaderReplaySource, "3/1"},
	} {
		t.Run(c.key+"="+c.value, func(t *testing.T) {
			_, err := ParseControl([]kgo.RecordHeader{{Key: c.key, Value: []byte(c.value)}})
			var malformed *HeaderError
			if !errors.As(err, &malformed) || malformed.Header != c.key {
				t.Errorf("got %v", err)
			}
		})
	}
	twice := []kgo.RecordHeader{{Key: HeaderAttempt, Value: []byte("1")}, {Key: HeaderAttempt, Value: []byte("2")}}
	if _, err := ParseControl(twice); err == nil {
		t.Error("a header that stands twice was read")
	}
}

func TestOwnHeadersStayBelow8KiB(t *testing.T) {
	long := strings.Repeat("ü", 100_000)
	c := Control{
		Attempt: 1 << 30, MaxAttempts: 1 << 30, Due: noon, FirstFailedAt: noon, FailedAt: noon, SourceTimestamp: noon,
		ErrorClass: long, ErrorCode: long, ErrorStage: long, ErrorMessage: long, HasSource: true,
		Source: Position{strings.Repeat("t", 249), 1 << 30, 1 << 62}, ContentHash: long, FeatureID: long, BBox: long, RunID: long,
		Pipeline: long, DeadLetterID: long, ReplayID: long, Sequence: 1 << 62, ReplayCount: 1 << 30,
		ForceVersion: true, ReplaySource: Position{strings.Repeat("t", 249), 1 << 30, 1 << 62},
		Lineage: long, Care: long, Sovereignty: long,
	}
	n := 0
	for _, h := range c.AppendTo(nil) {
		n += len(h.Key) + len(h.Value)
	}
	if n >= 8<<10 {
		t.Errorf("%d bytes of headers", n)
	}
}

func TestProducerHeadersKeepOrderAndDuplicates(t *testing.T) {
	in := []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: HeaderDue, Value: []byte("x")}, {Key: "a", Value: []byte("2")}, {Key: "switchback-newer", Value: nil}}
	got := ProducerHeaders(in)
	if want := []kgo.RecordHeader{in[0], in[2]}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

func FuzzParseControl(f *testing.F) {
	f.Add(HeaderAttempt, []byte("2"))
	f.Add(HeaderForceVersion, []byte("true"))
	f.Add(HeaderReplaySource, []byte("features/3/1042"))
	f.Add(HeaderDue, []byte("2026-07-01T12:00:00.001Z"))
	f.Add(HeaderSource, []byte("features/3/1042"))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		c, err := ParseControl([]kgo.RecordHeader{{Key: key, Value: value}})
		if err != nil {
			return
		}
		again, err := ParseControl(c.AppendTo(nil))
		if err != nil {
			t.Fatalf("what was read from %s=%q cannot be read again: %v", key, value, err)
		}
		if len(value) <= maxTextBytes-3 && again != c && c.Due == again.Due {
			t.Fatalf("%+v became %+v", c, again)
		}
	})
}

func TestListsAreClosed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "outcome.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{"Outcome": len(Outcomes()), "Reason": len(Reasons())}
	ast.Inspect(file, func(n ast.Node) bool {
		if decl, ok := n.(*ast.GenDecl); ok && decl.Tok == token.CONST {
			kind := decl.Specs[0].(*ast.ValueSpec).Type.(*ast.Ident).Name
			if len(decl.Specs) != listed[kind] {
				t.Errorf("%d constants of type %s, %d in its list", len(decl.Specs), kind, listed[kind])
			}
		}
		return true
	})
}
