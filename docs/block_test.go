package docs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/switchback-geo/switchback/internal/access"
	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
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
		expect.Do(t, err)
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

// parseInfo parses the text after the fence: a language and marks.
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

// smallest is the pipeline file to which a fragment without its own `pipeline` is added.
const smallest = `
pipeline:
  id: example
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 502, 503, 504] }
  tolerance: { max_null_rate: 0.005, halt_on_geometry_invalid: false }
`

func noEnv(string) string { return "" }

func TestBlocks_configurations_load(t *testing.T) {
	for _, b := range blocks(t) {
		if b.has("access") {
			_, err := access.Parse(b.page, []byte(b.text))
			expect.That(t, err == nil, "%s: %v", b, err)
		}
		if !b.has("config") && !b.has("fragment") {
			continue
		}
		t.Run(b.String(), func(t *testing.T) {
			text := b.text
			if b.has("fragment") {
				text = completed(t, text)
			}
			_, err := config.Parse(b.page, []byte(text), noEnv)
			expect.That(t, err == nil, "does not load:\n%v", err)
		})
	}
}

// completed adds the mandatory part to a fragment that lacks it.
func completed(t *testing.T, fragment string) string {
	t.Helper()
	var keys map[string]any
	must.Do(t, yaml.Unmarshal([]byte(fragment), &keys))
	if _, ok := keys["pipeline"]; ok {
		return fragment
	}
	return fragment + smallest
}

// Every pipeline file that the project ships loads.
func TestShippedConfigurationsLoad(t *testing.T) {
	var files []string
	for _, pattern := range []string{"deploy/config.*.yaml", "examples/*/*.yaml", "examples/*.yaml"} {
		found := must.Get(filepath.Glob(filepath.Join(root, pattern)))(t)
		files = append(files, found...)
	}
	must.That(t, len(files) >= 2, "found only %v", files)
	for _, file := range files {
		t.Run(strings.TrimPrefix(filepath.ToSlash(file), root+"/"), func(t *testing.T) {
			text := must.Get(os.ReadFile(file))(t)
			_, err := config.Parse(file, text, noEnv)
			expect.That(t, err == nil, "does not load:\n%v", err)
		})
	}
}

// whole is a pipeline file with only the mandatory keys, one a line, and an unreachable broker.
const whole = `pipeline:
  id: parcels
  retry_policy:
    max_attempts: 5
    base_delay_seconds: 2.0
    retryable_status_codes: [429, 503]
  tolerance:
    max_null_rate: 0.005
    halt_on_geometry_invalid: false
kafka: { brokers: ["127.0.0.1:1"] }
`

// S0-2: all faults of a file are named at once, before any I/O, and a file without any is legal without a broker.
func TestValidate_S0_2_all_faults_at_once(t *testing.T) {
	for _, command := range []string{"validate", "run"} {
		res := consumer(t, "pipeline:\n  id: parcels\n  retry_policy: { max_attempts: 0 }\n", command)
		for _, key := range []string{"max_attempts", "base_delay_seconds", "retryable_status_codes", "tolerance"} {
			expect.That(t, res.Code == 2 && strings.Contains(res.Stdout+res.Stderr, key), "%s: %s is not named: %v", command, key, res)
		}
	}
	res := consumer(t, whole, "validate")
	expect.That(t, res.Code == 0, "the whole file: %v", res)
}

// consumer runs a command on a pipeline file with this text.
func consumer(t *testing.T, text, command string) proc.Result {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pipeline.yaml")
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	return proc.Run(t.Context(), t, proc.Spec{Path: filepath.Join(binaries, "consumer"), Args: []string{command, "-c", file}})
}

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

// linkFault returns the fault of a link from a page, or "". Links out of the project are not followed.
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

// Every block has a mark that states how it is checked. An excerpt is in the named file, word for word except for the
// indentation, and JSON parses.
func TestBlocks_each_says_how_it_is_checked(t *testing.T) {
	for _, b := range blocks(t) {
		expect.That(t, len(b.marks) != 0, "%s: no mark states how the block is checked", b)
		if b.has("file") {
			text := must.Get(os.ReadFile(filepath.Join(root, b.marks["file"])))(t)
			expect.That(t, strings.Contains(flat(string(text)), flat(b.text)), "%s: this text is not in %s", b, b.marks["file"])
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
