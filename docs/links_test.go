package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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
