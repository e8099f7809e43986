package idempotency

import (
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
