package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// root is the root of the repository, seen from this folder.
const root = ".."

// block is one fenced block of a page.
type block struct {
	page  string // relative to the root
	line  int    // of its first line of text
	lang  string
	marks map[string]string // "run" → "", "file" → "deploy/…"
	text  string
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

func (b block) has(mark string) bool { _, ok := b.marks[mark]; return ok }

// lines returns the block's lines without blank ones.
func (b block) lines() []string {
	var out []string
	for line := range strings.Lines(b.text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

var (
	fence = regexp.MustCompile("^(\\s*)(```+|~~~+)(.*)$")
	mark  = regexp.MustCompile(`^\s*([a-z-]+)(?:=("[^"]*"|\S+))?`)
)

// pages lists the Markdown files that are checked.
func pages(t *testing.T) []string {
	t.Helper()
	out := []string{"README.md", "CHANGELOG.md"}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(name, ".md") {
			out = append(out, "docs/"+filepath.ToSlash(name))
		}
		return err
	})
	must.Do(t, err)
	return out
}

// blocks returns every fenced block of every page, in order.
func blocks(t *testing.T) []block {
	t.Helper()
	var out []block
	for _, page := range pages(t) {
		text := must.Get(os.ReadFile(filepath.Join(root, page)))(t)
		found, err := parseBlocks(page, string(text))
		expect.That(t, err == nil, "%v", err)
		out = append(out, found...)
	}
	return out
}

func parseBlocks(page, text string) ([]block, error) {
	var out []block
	var open *block
	var end, indent string
	for i, line := range strings.Split(text, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case open == nil && m != nil:
			lang, marks, err := parseInfo(m[3])
			if err != nil {
				return out, fmt.Errorf("%s:%d: %w", page, i+1, err)
			}
			open, end, indent = &block{page: page, line: i + 2, lang: lang, marks: marks}, m[2], m[1]
		case open != nil && m != nil && m[2] == end && strings.TrimSpace(m[3]) == "":
			out = append(out, *open)
			open = nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		}
	}
	if open != nil {
		return out, fmt.Errorf("%s: the block has no end", open)
	}
	return out, nil
}

// parseInfo reads what stands behind the fence: a language and marks.
func parseInfo(info string) (string, map[string]string, error) {
	lang, rest, _ := strings.Cut(strings.TrimSpace(info), " ")
	marks := map[string]string{}
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		m := mark.FindStringSubmatch(rest)
		if m == nil {
			return "", nil, fmt.Errorf("cannot read the marks %q", rest)
		}
		marks[m[1]] = strings.Trim(m[2], `"`)
		rest = rest[len(m[0]):]
	}
	return lang, marks, nil
}
