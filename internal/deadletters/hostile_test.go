package deadletters

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Ten thousand control headers of which one is broken cost no more than ten thousand headers do.
func TestDecode_C4_many_broken_control_headers_are_read_once_each(t *testing.T) {
	headers := []kgo.RecordHeader{{Key: header.KeyAttempt, Value: []byte("two")}, {Key: header.KeyErrorCode, Value: []byte("crs_missing")}}
	for i := range 9_000 {
		headers = append(headers, kgo.RecordHeader{Key: fmt.Sprintf("switchback-x-%d", i)}, kgo.RecordHeader{Key: header.KeyErrorCode, Value: []byte("again")})
	}
	allocations := testing.AllocsPerRun(1, func() {
		l := Decode(&kgo.Record{Headers: headers}, false)
		if l.Control.ErrorCode != "crs_missing" || len(l.Problems) != maxProblems+3 { // the last three say what is missing
			t.Errorf("%q, %d problems: %q", l.Control.ErrorCode, len(l.Problems), l.Problems)
		}
	})
	if allocations > 20*float64(len(headers)) {
		t.Errorf("%.0f allocations for %d headers", allocations, len(headers))
	}
}

func TestParseState_C4_refuses_what_no_writer_makes(t *testing.T) {
	good := string(State{ID: "a", Status: Pending, At: bombAt, ReplayID: "r", By: "b"}.Record("t", 0).Value)
	for name, text := range map[string]string{
		"blanks":    good + strings.Repeat(" ", maxState),
		"replay id": strings.Replace(good, `"r"`, `"`+strings.Repeat("r", maxStateText+1)+`"`, 1),
		"by":        strings.Replace(good, `"b"`, `"`+strings.Repeat("b", maxStateText+1)+`"`, 1),
		"id":        strings.Replace(good, `"a"`, `"`+strings.Repeat("a", maxStateText+1)+`"`, 1),
		"deep":      strings.Replace(good, `"a"`, strings.Repeat("[", 30_000), 1),
	} {
		if _, err := ParseState([]byte(text)); err == nil || len(err.Error()) > 500 {
			t.Errorf("%s: %.600v", name, err)
		}
	}
	if s, err := ParseState([]byte(good)); err != nil || s.ReplayID != "r" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestFilter_S4_8_refuses_endless_lists(t *testing.T) {
	if err := (Filter{Features: make([]string, maxValues+1)}).Check(); err == nil {
		t.Error("it was accepted")
	}
	if err := (Filter{Features: make([]string, maxValues)}).Check(); err != nil {
		t.Error(err)
	}
}
