package docs_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// Every block says how it is kept true. An excerpt stands in the named file, word for word but for the indentation, and JSON parses.
func TestBlocks_each_says_how_it_is_checked(t *testing.T) {
	for _, b := range blocks(t) {
		expect.That(t, len(b.marks) != 0, "%s: no mark says how the block is checked", b)
		if b.has("file") {
			text := must.Get(os.ReadFile(filepath.Join(root, b.marks["file"])))(t)
			expect.That(t, strings.Contains(flat(string(text)), flat(b.text)), "%s: this text does not stand in %s", b, b.marks["file"])
		}
		if b.lang == "json" {
			var v any
			var err error
			for dec := json.NewDecoder(strings.NewReader(b.text)); err == nil; {
				err = dec.Decode(&v)
			}
			expect.That(t, errors.Is(err, io.EOF), "%s: %v", b, err)
		}
	}
}

// flat puts a text on one line with single spaces.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }
