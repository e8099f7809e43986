package deadletters

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

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
			got := Normalise(c.in)
			expect.That(t, got == c.want, "got  %q\nwant %q", got, c.want)
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
		expect.That(t, other != one, "another %s gives the same group", name)
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
