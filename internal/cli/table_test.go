package cli

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
)

func TestTable_has_a_limit_and_says_what_is_missing(t *testing.T) {
	one := Table{Columns: []Column{{Title: "ID"}}}
	for range MaxRows + 3 {
		one.Add("x")
	}
	expect.That(t, len(one.rows) == MaxRows && strings.HasPrefix(one.Dropped(), "(3 more are not shown"), "%d rows, %q", len(one.rows), one.Dropped())
	expect.Equal(t, (&Table{}).Dropped(), "", "an unknown part of zero")
}

func TestIndentJSON_indents_no_deeper_than_a_screen_is_wide(t *testing.T) {
	const depth = 5000
	text := IndentJSON(strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth))
	expect.That(t, len(text) <= depth*2*(2*maxIndent+10), "%d bytes", len(text))
}
