package docs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// slug returns the anchor that a heading gets on a page.
func slug(title string) string {
	return strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

// prose returns a page's text with the lines of its fenced blocks empty.
func prose(text string) string {
	var out []string
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		if fence.MatchString(line) {
			inside, line = !inside, ""
		} else if inside {
			line = ""
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func TestLinks_lead_somewhere(t *testing.T) {
	for _, page := range pages(t) {
		text := must.Get(os.ReadFile(filepath.Join(root, page)))(t)
		for _, m := range link.FindAllStringSubmatch(prose(string(text)), -1) {
			expect.Equal(t, linkFault(page, m[1]), "", page, "the link", m[1])
		}
	}
}

// linkFault says what is wrong with a link from a page, or "". Links out of the project are not followed.
func linkFault(page, target string) string {
	if strings.Contains(target, "://") {
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	if file = path.Join(path.Dir(page), file); strings.HasPrefix(target, "#") {
		file = page
	}
	if strings.HasPrefix(file, "../") {
		return "leads out of the project"
	}
	info, err := os.Stat(filepath.Join(root, file))
	if err != nil {
		return "leads to nothing"
	}
	if anchor == "" || info.IsDir() {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return err.Error()
	}
	for _, h := range heading.FindAllStringSubmatch(prose(string(text)), -1) {
		if slug(h[1]) == anchor {
			return ""
		}
	}
	return "names a heading that the page does not have"
}

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

// The manual has every exit code with the meaning that both programs print.
func TestExitCodes_areThoseOfTheManual(t *testing.T) {
	manual := must.Get(os.ReadFile("replayer.md"))(t)
	for _, e := range cli.Exits() {
		row := fmt.Sprintf("| %d | %s |", e, e.Meaning())
		expect.That(t, strings.Contains(string(manual), row), "replayer.md has no row %q", row)
	}
}
