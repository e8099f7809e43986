package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// hintsOf gives what is said of a file that the smallest one and some lines make.
func hintsOf(t *testing.T, more string) string {
	t.Helper()
	text := `pipeline:
  id: features
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 503], POLICY }
  tolerance: { max_null_rate: 0.005, halt_on_geometry_invalid: false }
  PIPELINE
`
	for place, more := range map[string]string{"POLICY": cutPrefix(more, "policy: "), "PIPELINE": cutPrefix(more, "pipeline: ")} {
		text = strings.Replace(text, place, more, 1)
	}
	if !strings.HasPrefix(more, "policy: ") && !strings.HasPrefix(more, "pipeline: ") {
		text += more + "\n"
	}
	_, err := Parse("f", []byte(text), nil)
	var faults *Faults
	if !errors.As(err, &faults) || len(faults.List) != 1 {
		t.Fatalf("%s: want one fault, got %v", more, err)
	}
	return faults.List[0].Fix
}

func cutPrefix(text, prefix string) string {
	rest, _ := strings.CutPrefix(text, prefix)
	if rest == text {
		return ""
	}
	return rest
}

func TestHints_theWordsOfOtherTools(t *testing.T) {
	field := func(word string) string { return "transform: { fields: [{ to: a, type: " + word + " }] }" }
	for _, c := range []struct{ written, want string }{
		{"kafka: { bootstrap_servers: 'a:9092' }", "did you mean brokers?"},
		{"kafka: { bootstrap.servers: 'a:9092' }", "did you mean brokers?"},
		{"bootstrap_servers: 'a:9092'", "write it as kafka.brokers"},
		{"kafka: { group_id: g }", "write it as source.group"},
		{"source: { group.id: g }", "did you mean group?"},
		{"retries: 3", "write it as pipeline.retry_policy.max_attempts, which counts the first attempt, too"},
		{"kafka: { retries: 3 }", "write it as pipeline.retry_policy.max_attempts, which counts the first attempt, too"},
		{"pipeline: retries: 3", "write it as pipeline.retry_policy.max_attempts, which counts the first attempt, too"},
		{"policy: retries: 3", "did you mean max_attempts, which counts the first attempt, too?"},
		{"policy: max_retries: 3", "did you mean max_attempts, which counts the first attempt, too?"},
		{"policy: policies: { timeout: { retries: 3 } }", "did you mean max_attempts, which counts the first attempt, too?"},
		{field("float"), "did you mean number?"},
		{field("DOUBLE"), "did you mean number?"},
		{field("numeric"), "did you mean decimal?"},
		{field("timestamp"), "did you mean datetime?"},
		{field("str"), "did you mean string?"},
		{field("int"), "did you mean integer?"},
		{field("bool"), "did you mean boolean?"},
		{field("jsonb"), "did you mean object?"},
		{field("intger"), "did you mean integer?"},
		{field("point"), "a geometry is no field: list which ones pass under transform.geometry.types"},
		{field("zebra"), "write string or integer or number"},
		{"transform: { geometry: { types: point } }", "write [Point]"},
		{"transform: { geometry: { types: multi_polygon } }", "write [MultiPolygon]"},
		{"transform: { geometry: { types: zebra } }", "write it as a list, of Point, "},
		{"transform: { geometry: { types: [point] } }", `write "Point"`},
		{"delivery: float", "write exactly_once or at_least_once"},
	} {
		if got := hintsOf(t, c.written); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s\n got %s\nwant %s", c.written, got, c.want)
		}
	}
}

// A key that another tool's name leads to is one of this file.
func TestHints_leadToKeysThatAreThere(t *testing.T) {
	for _, name := range []string{"bootstrap_servers", "retries", "group_id"} {
		if own, _ := otherKey("", name); !slices.Contains(Paths(), own) {
			t.Errorf("%s leads to %q, which is no key", name, own)
		}
	}
}

func TestNearest_aBeginningThatFitsOneWord(t *testing.T) {
	words := []string{"coercion_failed", "geometry_invalid", "geometry_empty"}
	for name, want := range map[string]string{"coercion": "coercion_failed", "COERC": "coercion_failed", "geometry": "", "co": "", "": "", strings.Repeat("c", 100): ""} {
		if got := Nearest(name, words); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
