package idempotency

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestOf(t *testing.T) {
	equal := func(a, b Hash) bool { return a == b }
	b := func(s string) []byte { return []byte(s) }
	cases := []struct {
		name string
		a, b Hash
		same bool
	}{
		{"S2-4_same_parts_same_hash", Of(b("ab"), b("c")), Of(b("ab"), b("c")), true},
		{"S2-4_parts_do_not_run_together", Of(b("ab"), b("c")), Of(b("a"), b("bc")), false},
		{"S2-4_order_counts", Of(b("a"), b("b")), Of(b("b"), b("a")), false},
		{"S2-4_no_part_is_not_an_empty_part", Of(), Of(nil), false},
		{"S2-4_nil_is_empty", Of(nil), Of(b("")), true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			expect.Equal(t, equal(c.a, c.b), c.same, "equal")
		})
	}
}

func TestParse(t *testing.T) {
	good := Of([]byte("x")).String()
	cases := []struct {
		name, text string
		ok         bool
	}{
		{"its_own_text", good, true},
		{"no_prefix", strings.TrimPrefix(good, "sha256:"), false},
		{"other_algorithm", "sha512:" + strings.TrimPrefix(good, "sha256:"), false},
		{"too_short", good[:len(good)-1], false},
		{"too_long", good + "0", false},
		{"upper_case", "sha256:" + strings.Repeat("A", 64), false},
		{"not_hexadecimal", "sha256:" + strings.Repeat("g", 64), false},
		{"empty", "", false},
	}
	for _, c := range cases {
		t.Run("C-4_"+c.name, func(t *testing.T) {
			h, err := Parse(c.text)
			must.That(t, (err == nil) == c.ok, "Parse(%q) error = %v, want ok %v", c.text, err, c.ok)
			expect.That(t, !c.ok || h.String() == c.text, "String() = %q, want %q", h, c.text)
			expect.That(t, c.ok || errors.Is(err, ErrMalformed), "error %v does not wrap ErrMalformed", err)
		})
	}
}

func TestParse_reads_no_other_digit(t *testing.T) {
	good := Of([]byte("x")).String()
	for digit := range 256 {
		text := good[:len(good)-1] + string([]byte{byte(digit)})
		want := digit >= '0' && digit <= '9' || digit >= 'a' && digit <= 'f'
		h, err := Parse(text)
		expect.That(t, (err == nil) == want && (!want || h.String() == text), "Parse(%q) = %v, %v", text, h, err)
	}
}

func TestHashAsJSON(t *testing.T) {
	want := Of([]byte("x"))
	text := must.Get(json.Marshal(want))(t)
	var got Hash
	err := json.Unmarshal(text, &got)
	expect.That(t, err == nil && got == want, "%s came back as %v, %v", text, got, err)
	err = json.Unmarshal([]byte(`"sha256:0"`), &got)
	expect.That(t, errors.Is(err, ErrMalformed), "a malformed hash gives %v", err)
	expect.That(t, (Hash{}).IsZero() && !want.IsZero(), "IsZero does not tell the zero hash from another")
}

func TestCanonical(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"order_and_space", "{ \"b\" : 1,\n \"a\" : [ 1 , 2 ] }", `{"a":[1,2],"b":1}`},
		{"nested_order", `{"b":{"d":1,"c":2}}`, `{"b":{"c":2,"d":1}}`},
		{"escapes", `"\u0041\/\u00e9\u000a"`, "\"A/é\\n\""},
		{"rfc8785_numbers", `[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]`,
			`[333333333.3333333,1e+30,4.5,0.002,1e-27]`},
		{"rfc8785_utf16_order", `{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}"},
		{"exact_integer_beyond_2^53", `9007199254740993`, `9007199254740993`},
		{"exact_integer_beyond_uint64", `[123456789012345678901234567890]`, `[123456789012345678901234567890]`},
		{"float_literal_is_a_double", `9007199254740993.0`, `9007199254740992`},
		{"negative_zero_integer", `[-0,-0.0,"-0",{"-0":-0},-0]`, `[0,0,"-0",{"-0":0},0]`},
		{"negative_zero_after_an_escape", `["\"-0",-0]`, `["\"-0",0]`},
		{"negative_zero_alone", `-0`, `0`},
		{"negative_fraction", `[-0,-0.5,-1e-7]`, `[0,-0.5,-1e-7]`},
		{"subnormal", `5e-324`, `5e-324`},
		{"underflow_is_zero", `1e-400`, `0`},
	}
	for _, c := range cases {
		t.Run("S2-4_"+c.name, func(t *testing.T) {
			got, err := Canonical([]byte(c.in))
			expect.That(t, err == nil && string(got) == c.want, "Canonical(%s) = %s, %v; want %s", c.in, got, err, c.want)
		})
	}
}

func TestCanonicalRefuses(t *testing.T) {
	cases := []struct{ name, in string }{
		{"empty", ``}, {"not_json", `{a:1}`}, {"truncated", `{"a":`}, {"trailing_data", `{} {}`},
		{"duplicate_member", `{"a":1,"a":2}`}, {"duplicate_by_escape", `{"a":1,"\u0061":2}`},
		{"invalid_utf8", "\"\xff\""}, {"lone_surrogate", `"\ud800"`},
		{"beyond_double", `1e400`}, {"beyond_double_negative", `[-1.5e309]`},
	}
	for _, c := range cases {
		t.Run("S2-4_"+c.name, func(t *testing.T) {
			got, err := Canonical([]byte(c.in))
			expect.That(t, err != nil, "Canonical(%q) = %s, want an error", c.in, got)
		})
	}
	_, err := Canonical([]byte(`[1e400]`))
	expect.That(t, errors.Is(err, ErrNumberRange), "1e400 gives %v, want ErrNumberRange", err)
}

func TestCanonicalLeavesItsInputAlone(t *testing.T) {
	in := []byte(`{"b":-0,"a":1.0}`)
	before := bytes.Clone(in)
	_, err := Canonical(in)
	expect.That(t, err == nil && bytes.Equal(in, before), "input became %s (%v)", in, err)
}

// FuzzCanonical checks that a canonical form is a fixed point, that it is
// still the same JSON for another reader, and that nothing panics.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":[-0,1e3,"\u0041"]}`, `-0`, `1e400`, `9007199254740993`, `{"a":1,"a":2}`, "\"\xff\"", `["\\",-0]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		once, err := Canonical(in)
		if err != nil {
			return
		}
		twice, err := Canonical(once)
		must.That(t, err == nil && bytes.Equal(once, twice), "%q: canonical form %q became %q (%v)", in, once, twice, err)
		must.That(t, json.Valid(once), "%q: canonical form %q is not JSON", in, once)
		must.That(t, Of(once) == Of(twice), "%q: one form, two hashes", in)
	})
}
