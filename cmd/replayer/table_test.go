package main

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

func TestTable_has_a_limit_and_says_what_is_missing(t *testing.T) {
	one := table{columns: []column{{title: "ID"}}}
	for range maxRows + 3 {
		one.add("x")
	}
	if len(one.rows) != maxRows || !strings.HasPrefix(one.rest(), "(3 more are not shown") {
		t.Errorf("%d rows, %q", len(one.rows), one.rest())
	}
	rest := (&table{}).rest()
	expect.That(t, rest == "", "%q", rest)
}

func TestSpread_sets_in_no_deeper_than_a_screen_is_wide(t *testing.T) {
	const depth = 5000
	text := spread(strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth))
	expect.That(t, len(text) <= depth*2*(2*mostIndent+10), "%d bytes", len(text))
}
