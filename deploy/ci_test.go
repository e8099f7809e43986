package deploy_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
)

// workflow is the part of GitHub's workflow syntax that the file uses. It is read strictly: a key that is not here, such as
// a misspelt one, fails.
type workflow struct {
	Name string `yaml:"name"`
	On   struct {
		Push        struct{ Branches []string } `yaml:"push"`
		PullRequest any                         `yaml:"pull_request"`
	} `yaml:"on"`
	Permissions map[string]string `yaml:"permissions"`
	Env         map[string]string `yaml:"env"`
	Jobs        map[string]struct {
		RunsOn         string `yaml:"runs-on"`
		TimeoutMinutes int    `yaml:"timeout-minutes"`
		Steps          []struct {
			Name string            `yaml:"name"`
			Uses string            `yaml:"uses"`
			With map[string]string `yaml:"with"`
			Run  string            `yaml:"run"`
		} `yaml:"steps"`
	} `yaml:"jobs"`
}

// The workflow for a repository of pipeline files checks them on every change, with actions that are pinned to
// commits (S0-12).
func TestCI_S0_12_theWorkflowChecksEveryChange(t *testing.T) {
	text := must.Get(os.ReadFile("ci/workflow.yaml"))(t)
	var w workflow
	must.Do(t, yaml.UnmarshalWithOptions(text, &w, yaml.Strict()))
	expect.That(t, strings.Contains(string(text), "\n  pull_request:\n") && slices.Contains(w.On.Push.Branches, "main"), "it runs on %+v", w.On)
	expect.That(t, len(w.Permissions) == 1 && w.Permissions["contents"] == "read" && len(w.Jobs) == 1, "permissions %v, %d jobs", w.Permissions, len(w.Jobs))
	pinned := regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)
	var runs []string
	for name, job := range w.Jobs {
		expect.That(t, job.RunsOn != "" && job.TimeoutMinutes != 0, "job %s: runs on %q, at most %d minutes", name, job.RunsOn, job.TimeoutMinutes)
		for _, step := range job.Steps {
			expect.That(t, (step.Uses == "") != (step.Run == "") && (step.Uses == "" || pinned.MatchString(step.Uses)), "step %+v: want either a command or an action with the commit that it is at", step)
			runs = append(runs, step.Run)
		}
	}
	expect.That(t, w.Env["SWITCHBACK_VERSION"] != "" && slices.Contains(runs, "bash ci/check"), "it runs %q with %v", runs, w.Env)
}

// The workflow's own command, in a repository that is set up as the file describes, passes. It fails once somebody
// changes the policy so that it breaks a scenario's expectation, or makes the file invalid, or forgets the scenario.
func TestCI_S0_12_theCheckFailsWhenAPolicyBreaks(t *testing.T) {
	bin := t.TempDir()
	must.Get(proc.Build(t.Context(), bin, "consumer"))(t)
	for _, c := range []struct {
		name          string
		change        func(t *testing.T, dir string)
		code          int
		says, saysNot string
	}{
		{"as it is", func(*testing.T, string) {}, 0, "max_recovery_time", "FAILED"},
		{"without its breaker", replace("      breaker: {}\n", ""), 1, "breaks what scenarios/parcels.outage.yaml expects", "parcels.rush.yaml expects"},
		{"one attempt only", replace("max_attempts: 5", "max_attempts: 1"), 1, "breaks what scenarios/parcels.rush.yaml expects", "is not valid"},
		{"no pipeline file", replace("max_attempts: 5", "max_attempts: many"), 1, "is not valid", "expects"},
		{"no scenario", func(t *testing.T, dir string) {
			must.Do(t, os.RemoveAll(filepath.Join(dir, "scenarios")))
		}, 1, "no scenario for pipelines/parcels.yaml", "expects"},
	} {
		t.Run(c.name, func(t *testing.T) {
			repo := t.TempDir()
			must.Do(t, os.CopyFS(filepath.Join(repo, "ci"), os.DirFS("ci")))
			c.change(t, filepath.Join(repo, "ci"))
			cmd := exec.CommandContext(t.Context(), "bash", "ci/check")
			cmd.Dir, cmd.Env = repo, append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			_ = cmd.Run() // the exit code shows it
			code := cmd.ProcessState.ExitCode()
			expect.That(t, code == c.code && strings.Contains(out.String(), c.says) && !strings.Contains(out.String(), c.saysNot), "exit %d, want %d, with %q and without %q:\n%s", code, c.code, c.says, c.saysNot, out.String())
		})
	}
}

// replace changes the pipeline file.
func replace(from, to string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		name := filepath.Join(dir, "pipelines", "parcels.yaml")
		text, err := os.ReadFile(name)
		must.That(t, err == nil && strings.Contains(string(text), from), "%v, or no %q in it", err, from)
		must.Do(t, os.WriteFile(name, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
	}
}
