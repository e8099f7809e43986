package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// FuzzParse proves that any text and any environment give either faults, each with a place, or a
// configuration that can be printed and loads again. It never panics.
func FuzzParse(f *testing.F) {
	files := must.Get(filepath.Glob("testdata/*.yaml"))(f)
	bad := must.Get(filepath.Glob("testdata/bad/*.yaml"))(f)
	for _, path := range append(files, bad...) {
		text := must.Get(os.ReadFile(path))(f)
		f.Add(text, "")
	}
	f.Add([]byte(minimalText), "[{name: a}]")
	f.Add([]byte(minimalText), "a:1,b:2")
	f.Fuzz(func(t *testing.T, text []byte, variable string) {
		lookup := func(name string) string {
			if strings.HasSuffix(name, "BROKERS") || strings.HasSuffix(name, "FIELDS") || strings.HasSuffix(name, "CONSTANTS") {
				return variable
			}
			return ""
		}
		cfg, err := Parse("f.yaml", text, lookup)
		if err == nil {
			checkLegal(t, cfg)
			return
		}
		var faults *Faults
		if !errors.As(err, &faults) || len(faults.List) == 0 {
			t.Fatalf("not faults: %v", err)
		}
		for _, fault := range faults.List {
			if fault.Message == "" || fault.Variable == "" && (fault.Line < 1 || fault.Column < 1) {
				t.Errorf("fault without a place or a message: %+v", fault)
			}
		}
	})
}

// checkLegal proves what every accepted configuration has.
func checkLegal(t *testing.T, cfg *Config) {
	t.Helper()
	p := cfg.Pipeline.RetryPolicy
	if p.MaxAttempts < 1 || p.BaseDelaySeconds <= 0 || len(p.Tiers) == 0 || p.BaseDelay() > p.MaxDelay() {
		t.Errorf("illegal retry policy was accepted: %+v", p)
	}
	for _, topic := range cfg.allTopics() {
		if problem, _ := topicProblem(topic.name); problem != "" {
			t.Errorf("%s: %s", topic.path, problem)
		}
	}
	Warnings(cfg)
	text := must.Get(cfg.YAML())(t)
	if _, err := Parse("again.yaml", text, nil); err != nil {
		t.Errorf("what was accepted does not load again: %v\n%s", err, text)
	}
}
