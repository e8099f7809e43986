package integration

import (
	"os"
	"strings"

	"github.com/switchback-geo/switchback/internal/testkit/proc"
)

// types runs one command with the pipeline file and wants its exit code and, in what it prints, these words.
func (p *pipe) types(code int, command string, says ...string) proc.Result {
	p.t.Helper()
	words := strings.Fields(command)
	var args []string
	for _, word := range words[1:] { // + is a space within a word
		args = append(args, strings.ReplaceAll(word, "+", " "))
	}
	r := p.run(words[0], append(args, "-c", p.file)...)
	if r.Code != code {
		p.t.Fatalf("%s: want exit code %d: %s", command, code, r)
	}
	for _, word := range says {
		if !strings.Contains(r.Stdout+r.Stderr, word) {
			p.t.Errorf("%s does not say %q: %s", command, word, r)
		}
	}
	return r
}

// sendInMetres sends features whose level is a text with a unit.
func (p *pipe) sendInMetres(ids []string) {
	p.t.Helper()
	records := p.records(ids...)
	for _, r := range records {
		r.Value = []byte(strings.Replace(string(r.Value), `"level": 3`, `"level": "12 m"`, 1))
	}
	p.sendRecords(records...)
}

// readsMetres fixes the mapping in the pipeline file.
func (p *pipe) readsMetres() {
	p.t.Helper()
	text, err := os.ReadFile(p.file)
	if err != nil {
		p.t.Fatal(err)
	}
	const was = "{ from: level, to: level, type: integer }"
	now := `{ to: level, type: integer, expr: 'int(trimSuffix(string(properties.level), " m"))' }`
	if !strings.Contains(string(text), was) {
		p.t.Fatal("the pipeline file has another mapping")
	}
	if err := os.WriteFile(p.file, []byte(strings.Replace(string(text), was, now, 1)), 0o644); err != nil {
		p.t.Fatal(err)
	}
}
