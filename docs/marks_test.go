package docs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kinds says which mark each language takes; a block has exactly one of them. Another language, or a
// block without a mark, fails: whoever writes a block decides how it is kept true.
func kinds() map[string][]string {
	return map[string][]string{
		"sh":   {"run", "ci", "by-hand"},
		"yaml": {"config", "fragment", "file"},
		"go":   {"file"},
		"json": {"file", "example"},
		"text": {"output", "diagram"},
	}
}

// details lists the marks that go with a kind.
func details() map[string][]string {
	return map[string][]string{"run": {"exit"}}
}

func TestBlocks_each_says_how_it_is_checked(t *testing.T) {
	found := blocks(t)
	if len(found) < 5 {
		t.Fatalf("found only %d blocks: is the reader of fences broken?", len(found))
	}
	for _, b := range found {
		if fault := markFault(b); fault != "" {
			t.Errorf("%s: %s; see docs/README.md, \"How these pages are kept true\"", b, fault)
		}
	}
}

// markFault says what is wrong with a block's marks, or "".
func markFault(b block) string {
	allowed, ok := kinds()[b.lang]
	if !ok {
		return "a block of the language " + quote(b.lang) + " has no check"
	}
	var kind []string
	for m := range b.marks {
		if slices.Contains(allowed, m) {
			kind = append(kind, m)
		}
	}
	if len(kind) != 1 {
		return "a " + b.lang + " block needs exactly one of the marks " + strings.Join(allowed, ", ")
	}
	for m := range b.marks {
		if m != kind[0] && !slices.Contains(details()[kind[0]], m) {
			return "the mark " + quote(m) + " means nothing here"
		}
	}
	switch {
	case kind[0] == "by-hand" && len(strings.Fields(b.marks["by-hand"])) < 3:
		return "by-hand needs the reason why no test can run it, as in by-hand=\"needs a Docker engine\""
	case kind[0] == "run" && !slices.Contains([]string{"", "broker", "demo"}, b.marks["run"]):
		return "run takes nothing, broker or demo"
	}
	return ""
}

func quote(s string) string { return `"` + s + `"` }

// An excerpt stands in the named file, word for word but for the indentation.
func TestBlocks_excerpts_stand_in_their_files(t *testing.T) {
	for _, b := range blocks(t) {
		if !b.has("file") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, b.marks["file"]))
		if err != nil {
			t.Errorf("%s: %v", b, err)
			continue
		}
		if !strings.Contains(flat(string(text)), flat(b.text)) {
			t.Errorf("%s: this text does not stand in %s", b, b.marks["file"])
		}
	}
}

// flat puts a text on one line with single spaces.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestBlocks_json_parses(t *testing.T) {
	for _, b := range blocks(t) {
		if b.lang != "json" {
			continue
		}
		dec := json.NewDecoder(strings.NewReader(b.text))
		for dec.More() {
			var v any
			if err := dec.Decode(&v); err != nil {
				t.Errorf("%s: %v", b, err)
				break
			}
		}
	}
}
