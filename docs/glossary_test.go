package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const glossaryPage = "docs/glossary.md"

// TestGlossary_isKept looks for the phrases that the glossary rules out, outside of code.
func TestGlossary_isKept(t *testing.T) {
	phrases := ruledOut(t)
	if len(phrases) < 5 {
		t.Fatalf("the glossary rules out %q only: was its table changed?", phrases)
	}
	parts := make([]string, len(phrases))
	for i, phrase := range phrases {
		parts[i] = regexp.QuoteMeta(phrase)
	}
	found := regexp.MustCompile(`(?i)\b(` + strings.Join(parts, "|") + `)(s|ed|ing)?\b`)
	for _, page := range pages(t) {
		if slices.Contains([]string{glossaryPage, "CHANGELOG.md", "docs/requirements.md"}, page) || strings.HasPrefix(page, "docs/decisions/") {
			continue // what was written then
		}
		for i, line := range words(t, page) {
			if word := found.FindString(line); word != "" {
				t.Errorf("%s:%d: %q: see %s", page, i+1, word, glossaryPage)
			}
		}
	}
}

// ruledOut gives the last column of the glossary's tables.
func ruledOut(t *testing.T) (phrases []string) {
	for _, line := range words(t, glossaryPage) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.Contains(line, "---") {
			continue
		}
		for phrase := range strings.SplitSeq(cells[2], ",") {
			if phrase = strings.TrimSpace(phrase); phrase != "" && phrase != "Not" {
				phrases = append(phrases, phrase)
			}
		}
	}
	return phrases
}

var inlineCode = regexp.MustCompile("`[^`\n]*`")

// words gives the lines of a page without code.
func words(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(inlineCode.ReplaceAllString(prose(string(text)), ""), "\n")
}
