package deadletters

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func letter(id, code, message string, status Status, age time.Duration) Letter {
	return Letter{
		ID: id, At: at.Add(-age), Status: status, Size: 10, Deaths: 1,
		Control: header.Control{ErrorCode: code, ErrorStage: "gate", ErrorMessage: message},
		Group:   Fingerprint(code, "gate", Normalise(message)),
	}
}

func TestFilter_S4_6_check_refuses_what_cannot_be_asked_of_every_letter(t *testing.T) {
	long, zero := strings.Repeat("x", MaxHeaderValue+1), "a\x00"
	for name, f := range map[string]Filter{
		"unknown status":  {Statuses: []Status{"gone"}},
		"negative limit":  {Limit: -1},
		"empty range":     {Since: at, Until: at},
		"control header":  {Headers: []HeaderMatch{{Name: "switchback-error-code"}}},
		"nameless header": {Headers: []HeaderMatch{{}}},
		"long header":     {Headers: []HeaderMatch{{Name: "tag", Value: &long}}},
		"header of bytes": {Headers: []HeaderMatch{{Name: "tag", Value: &zero}}},
		"text of bytes":   {Text: "\xff"},
		"text of U+FFFD":  {Text: "a\uFFFD"},
	} {
		expect.That(t, f.Check() != nil, "%s: accepted", name)
	}
	expect.Do(t, (Filter{Statuses: Statuses(), Since: at, Until: at.Add(1), Limit: 3, Text: "Straße\n\"%\"", Headers: []HeaderMatch{{Name: "tag", Value: new(long[1:])}}}).Check())
}

// Each part of a filter is named, so that a printed command selects the same dead letters.
func TestFilter_Parts_nameEveryField(t *testing.T) {
	at := time.Date(2026, 11, 3, 4, 5, 6, 7, time.UTC)
	given := Filter{
		IDs: []string{"a", "b"}, Codes: []string{"c"}, Groups: []string{"g"}, Statuses: []Status{Escalated}, Features: []string{"f"}, Pipelines: []string{"p"},
		Runs: []string{"r"}, Headers: []HeaderMatch{must.Get(ParseHeaderMatch("name=value"))(t)}, BBox: new(must.Get(ParseBBox("1,2,3,4"))(t)), Text: "t",
		Since: at, Until: at.Add(time.Hour), Limit: 5,
	}
	fields := reflect.ValueOf(given)
	for i := range fields.NumField() {
		expect.That(t, !fields.Field(i).IsZero(), "%s has no value here", fields.Type().Field(i).Name)
	}
	parts := map[string][]string{}
	for name, value := range given.Parts() {
		parts[name] = append(parts[name], value)
	}
	expect.Equal(t, len(parts), fields.NumField(), "parts")
	one := func(name string) string { return parts[name][0] }
	read := Filter{IDs: parts["id"], Codes: parts["code"], Groups: parts["group"], Features: parts["feature"], Pipelines: parts["pipeline"], Runs: parts["run"], Text: one("text"), Limit: 5}
	text := FilterText{Statuses: parts["status"], Headers: parts["header"], BBox: one("bbox"), Since: one("since"), Until: one("until")}
	must.Get(text.ReadInto(&read, at))(t)
	expect.That(t, reflect.DeepEqual(read, given), "read back: %+v", read)
}

func TestResolveTime(t *testing.T) {
	for in, want := range map[string]time.Time{
		"2026-11-01T10:00:00+02:00": time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC),
		"2026-11-01":                time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		"90m":                       at.Add(-90 * time.Minute),
		"7d":                        at.Add(-7 * 24 * time.Hour),
		" 36h ":                     at.Add(-36 * time.Hour),
	} {
		got, err := ResolveTime(in, at)
		expect.That(t, err == nil && got.Equal(want), "%q: %v, %v; want %v", in, got, err, want)
	}
	for _, in := range []string{"", "yesterday", "-5m", "-1d", "5", "99999999d"} {
		got, err := ResolveTime(in, at)
		expect.That(t, err != nil, "%q: accepted as %v", in, got)
	}
}

func TestGrouping(t *testing.T) {
	replayed := letter("c", "timeout", "after 5 s", Replaying, time.Minute)
	letters := []Letter{
		letter("a", "geometry_invalid", "ring 3 crosses", Pending, 3*time.Hour),
		replayed,
		letter("b", "geometry_invalid", "ring 4 crosses", Pending, time.Hour),
		letter("d", "geometry_invalid", "ring 5 crosses", "", 2*time.Hour),
	}
	var grouping Grouping
	for i := range letters {
		grouping.Add(&letters[i])
	}
	got := grouping.Groups()
	want := []Group{
		{
			ID: letters[0].Group, Code: "geometry_invalid", Stage: "gate", Message: "ring <n> crosses", Count: 3,
			FirstSeen: at.Add(-3 * time.Hour), LastSeen: at.Add(-time.Hour), Bytes: 30,
			Statuses: map[Status]int{Pending: 2, "": 1}, Example: "b", Said: "ring 4 crosses",
		},
		{
			ID: replayed.Group, Code: "timeout", Stage: "gate", Message: "after <n> s", Count: 1,
			FirstSeen: replayed.At, LastSeen: replayed.At, Bytes: 10, Replayed: 1,
			Statuses: map[Status]int{Replaying: 1}, Example: "c", Said: "after 5 s",
		},
	}
	expect.That(t, reflect.DeepEqual(got, want), "got  %+v\nwant %+v", got, want)
}

func TestParseBBox(t *testing.T) {
	for in, want := range map[string]BBox{
		"9.4,47,9.7,47.3":       {9.4, 47, 9.7, 47.3},
		" 1 , 2 ,3, 4":          {1, 2, 3, 4},
		"179,-20,-179,-10":      {179, -20, -179, -10},
		"5e5,5.2e6,5.1e5,5.3e6": {500000, 5200000, 510000, 5300000},
	} {
		got, err := ParseBBox(in)
		expect.That(t, err == nil && got == want, "%q: %v, %v", in, got, err)
		again, err := ParseBBox(got.String())
		expect.That(t, err == nil && again == got, "%q: %q comes back as %v, %v", in, got.String(), again, err)
	}
	for _, in := range []string{"", "1,2,3", "1,2,3,4,5", "a,2,3,4", "NaN,2,3,4", "1,4,3,2", "1,2,Inf,4"} {
		got, err := ParseBBox(in)
		expect.That(t, err != nil, "%q: accepted as %v", in, got)
	}
}

// The complete table: every other change is illegal.
func TestStatus_transitions(t *testing.T) {
	legal := map[Status][]Status{
		Pending:     {Replaying, Discarded, Escalated, Duplicate, Superseded},
		Replaying:   {Reprocessed, Pending, Escalated, Duplicate, Superseded, Discarded},
		Escalated:   {Pending, Replaying, Discarded, Duplicate},
		Discarded:   {Pending, Escalated},
		Reprocessed: nil,
		Duplicate:   nil,
		Superseded:  {Pending},
	}
	for _, from := range Statuses() {
		for _, to := range Statuses() {
			got, want := from.CanBecome(to), slices.Contains(legal[from], to)
			expect.That(t, got == want, "%s -> %s: allowed %v, want %v", from, to, got, want)
		}
	}
	expect.That(t, !Status("gone").CanBecome(Pending), "an unknown status may become pending")
}

func TestNormalise(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"numbers", "status 503 after 4 attempts", "status <n> after <n> attempts"},
		{"decimals and exponents", "longitude -181.5 is beyond 1.8e2", "longitude <n> is beyond <n>"},
		{"ids", "feature us7000abcd: no place", "feature <id>: no place"},
		{"uuid", "run 123e4567-e89b-12d3-a456-426614174000 failed", "run <id> failed"},
		{"time", "due 2026-11-03T04:05:06.070Z, now later", "due <id>, now later"},
		{"address", "dial tcp 127.0.0.1:8088: connect: connection refused", "dial tcp <id>: connect: connection refused"},
		{"field names stay", `field "owner.name": want string`, `field "owner.name": want string`},
		{"index", "fields[2].type", "fields[<n>].type"},
		{"URL", "Get http://h/place?id=ci38 failed", "Get http://h/place?id=<id> failed"},
		{"value without digit stays", `AREA: "N/A" is no number`, `AREA: "N/A" is no number`},
		{"white space", "  a\n\t b  ", "a b"},
		{"trailing punctuation", "ring 3: not closed at 5.", "ring <n>: not closed at <n>."},
		{"not UTF-8", "a\xffb", "a\uFFFDb"},
		{"other digits", "Punkt ٣٤ und ½", "Punkt <n> und <n>"},
		{"empty", "", ""},
		{"UTF-8 stays", "the text is not UTF-8 at 5", "the text is not UTF-8 at <n>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect.Equal(t, Normalise(c.in), c.want, c)
		})
	}
}

func TestFingerprint_groups_by_cause_not_by_record(t *testing.T) {
	one := Fingerprint("coercion_failed", "transform", Normalise(`field "AREA" of feature P-1: "N/A" is no number`))
	two := Fingerprint("coercion_failed", "transform", Normalise(`field "AREA" of feature P-2: "N/A" is no number`))
	expect.That(t, one == two, "two features of one cause have groups %s and %s", one, two)
	for name, other := range map[string]string{
		"code":  Fingerprint("missing_required", "transform", Normalise(`field "AREA" of feature P-1: "N/A" is no number`)),
		"stage": Fingerprint("coercion_failed", "validate", Normalise(`field "AREA" of feature P-1: "N/A" is no number`)),
		"field": Fingerprint("coercion_failed", "transform", Normalise(`field "OWNER" of feature P-1: "N/A" is no number`)),
	} {
		expect.That(t, other != one, "another %s leads to the same group", name)
	}
	expect.That(t, len(one) == 12, "fingerprint %q has %d digits", one, len(one))
}

func FuzzNormalise(f *testing.F) {
	for _, seed := range []string{
		"status 503", "a1:b2", "::5", "1e5", "e1", "-", "<n>", "ring 3: not closed at 5.", "\xff9", "２０２６",
		strings.Repeat("x", 300), strings.Repeat("9é ", 200),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, message string) {
		got := Normalise(message)
		must.That(t, len(got) <= maxNormalised, "%d bytes", len(got))
		must.That(t, utf8.ValidString(got), "%q is not UTF-8", got)
		must.That(t, !strings.ContainsFunc(strings.ReplaceAll(got, "UTF-8", ""), unicode.IsNumber), "%q has a digit", got)
		again := Normalise(got)
		must.That(t, again == got, "%q becomes %q", got, again)
	})
}
