package docs_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/demo"
	"github.com/switchback-geo/switchback/internal/devbroker"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// blockBound is how long one block may run.
const blockBound = 2 * time.Minute

// shell runs blocks as a reader would: from the root of the repository, with consumer and replayer on the PATH.
type shell struct{ env []string }

func newShell(t *testing.T) shell {
	t.Helper()
	return shell{env: []string{
		"PATH=" + binaries + string(os.PathListSeparator) + os.Getenv("PATH"), "NO_COLOR=1", "TMPDIR=" + t.TempDir(),
		"SWITCHBACK_METRICS_LISTEN=127.0.0.1:0",                                               // pages run concurrently, and so may other tests
		"SWITCHBACK_REPLAYER_INDEX_FILE=" + filepath.Join(t.TempDir(), "dead-letters.sqlite"), // not the reader's own
	}}
}

// on returns the shell for a broker, which the commands read from the environment.
func (s shell) on(broker string) shell {
	s.env = append(slices.Clone(s.env), "SWITCHBACK_KAFKA_BROKERS="+broker)
	return s
}

// run runs one block and returns its output and exit code.
func (s shell) run(t *testing.T, b block) proc.Result {
	t.Helper()
	ctx := testrun.Context(t, blockBound)
	res := proc.Run(ctx, t, proc.Spec{Path: "/bin/sh", Args: []string{"-euc", b.text}, Env: s.env, Dir: root})
	want, _ := strconv.Atoi(b.marks["exit"])
	expect.That(t, res.Code == want, "%s: want exit code %d, got %v\nof:\n%s", b, want, res, b.text)
	return res
}

// emptyBroker starts an embedded broker and returns its address. An embedded one is enough here: the question is whether the
// commands of a page work together, not what Kafka guarantees.
func emptyBroker(t *testing.T) string {
	t.Helper()
	broker := must.Get(devbroker.Start(devbroker.Options{}))(t)
	t.Cleanup(broker.Close)
	return broker.Addr()
}

// TestBlocks_commands_run runs each page from its top to its end, so that a page may build on its earlier blocks.
// Each page has an empty broker of its own; the demo runs once, with its blocks beside it.
func TestBlocks_commands_run(t *testing.T) {
	all := blocks(t)
	t.Run("pages", func(t *testing.T) {
		t.Parallel()
		for page, found := range byPage(all) {
			t.Run(page, func(t *testing.T) {
				t.Parallel()
				shells := map[string]shell{"": newShell(t)}
				runThose(t, found, []string{"", "broker"}, func(place string) shell {
					if _, ok := shells[place]; !ok {
						shells[place] = newShell(t).on(emptyBroker(t))
					}
					return shells[place]
				})
			})
		}
	})
	t.Run("beside the demo", func(t *testing.T) {
		t.Parallel()
		demo := newShell(t).on(startDemo(t))
		runThose(t, all, []string{"demo"}, func(string) shell { return demo })
	})
}

// runThose runs the blocks that name one of the places, in order.
func runThose(t *testing.T, found []block, places []string, in func(place string) shell) {
	t.Helper()
	for i, b := range found {
		place, runs := b.marks["run"]
		if !runs || !slices.Contains(places, place) {
			continue
		}
		res := in(place).run(t, b)
		if i+1 < len(found) && found[i+1].has("output") {
			checkOutput(t, found[i+1], res)
		}
	}
}

func byPage(all []block) map[string][]block {
	out := map[string][]block{}
	for _, b := range all {
		out[b.page] = append(out[b.page], b)
	}
	return out
}

// checkOutput compares what a block printed with the output that the page shows right after it.
func checkOutput(t *testing.T, shown block, res proc.Result) {
	t.Helper()
	rest := res.Stdout + res.Stderr
	for _, line := range shown.lines() {
		place := linePattern(line).FindStringIndex(rest)
		if place == nil {
			t.Errorf("%s: the command does not print, in this order, %q; it printed\n%s%s", shown, line, res.Stdout, res.Stderr)
			return
		}
		rest = rest[place[1]:]
	}
}

// linePattern matches a line of output; "…" stands for anything, and spaces for one or more.
func linePattern(line string) *regexp.Regexp {
	parts := strings.Split(line, "…")
	for i, p := range parts {
		words := strings.Fields(p)
		for j, w := range words {
			words[j] = regexp.QuoteMeta(w)
		}
		parts[i] = strings.Join(words, `\s+`)
	}
	return regexp.MustCompile(strings.Join(parts, `.*`))
}

var ownCommand = regexp.MustCompile(`(?:^|[|;&]\s*|\s)(consumer|replayer)((?: +[a-z][a-z-]*)*)(.*)`)

// A block that no test can run is at least checked for commands and flags that exist.
func TestBlocks_by_hand_use_commands_and_flags_that_exist(t *testing.T) {
	s := newShell(t)
	for _, b := range blocks(t) {
		if !b.has("by-hand") {
			continue
		}
		for _, line := range joined(b.text) {
			if m := ownCommand.FindStringSubmatch(line); m != nil {
				s.checkUse(t, b, m[1], strings.Fields(m[2]), m[3])
			}
		}
	}
}

// joined returns the lines of a block without comments, with continued lines joined.
func joined(text string) []string {
	var out []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// checkUse checks a command and its flags against the program's own help.
func (s shell) checkUse(t *testing.T, b block, program string, words []string, rest string) {
	t.Helper()
	args := append(slices.Clone(words), "--help")
	res := proc.Run(t.Context(), t, proc.Spec{Path: filepath.Join(binaries, program), Args: args, Env: s.env})
	if res.Code != 0 {
		t.Errorf("%s: there is no %s %s: %v", b, program, strings.Join(words, " "), res)
		return
	}
	for _, flag := range regexp.MustCompile(`\s(--[a-z][a-z-]*|-[a-z])\b`).FindAllStringSubmatch(rest, -1) {
		expect.That(t, regexp.MustCompile(`(?m)(^|[\s,])`+flag[1]+`\b`).MatchString(res.Stdout), "%s: %s %s has no flag %s", b, program, strings.Join(words, " "), flag[1])
	}
}

// short is the demo's story without the waits: the same features, the same kinds of failure.
func short() demo.Story {
	none := time.Duration(0)
	return demo.Story{
		Pace:   demo.Pace{Burst: 500 * time.Millisecond, Share: 0.6, Spread: time.Second},
		Script: demo.Script{Seed: 7946, Unavailable: 0.01, OutageAfter: 200 * time.Millisecond, OutageFor: 300 * time.Millisecond},
		Tiers:  []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, time.Second},
		Jitter: &none,
	}
}

// shortDelays is an environment in which the base delay is that of the short story's first tier.
func shortDelays(name string) string {
	return map[string]string{config.Variable("pipeline.retry_policy.base_delay_seconds"): "0.1"}[name]
}

// startDemo plays the demo to the point where it waits for Ctrl-C, and returns its broker's address.
func startDemo(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	screen := newScreen(regexp.MustCompile(`Broker on (\S+), topic`), regexp.MustCompile(`Ctrl-C ends the demo`))
	ended := make(chan error, 1)
	go func() {
		ended <- demo.Run(ctx, demo.Options{Stdout: screen, Stderr: screen, MetricsListen: "", Env: shortDelays, Story: short()})
	}()
	t.Cleanup(func() {
		cancel()
		err := <-ended
		expect.That(t, err == nil, "the demo ended with %v after:\n%s", err, screen)
	})
	select {
	case <-screen.done:
	case err := <-ended:
		ended <- err
		t.Fatalf("the demo ended early: %v, after:\n%s", err, screen)
	case <-time.After(testrun.Patient(blockBound)):
		t.Fatalf("the demo did not come to its end:\n%s", screen)
	}
	return screen.found[0]
}

// screen collects the output and reports when all patterns have occurred, in their order.
type screen struct {
	mu       sync.Mutex
	text     bytes.Buffer
	patterns []*regexp.Regexp
	found    []string // the first group of each pattern that has one; read it after done
	done     chan struct{}
}

func newScreen(patterns ...*regexp.Regexp) *screen {
	return &screen{patterns: patterns, done: make(chan struct{})}
}

// Write adds a piece of output.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	for len(s.patterns) > 0 {
		m := s.patterns[0].FindStringSubmatch(s.text.String())
		if m == nil {
			break
		}
		if len(m) > 1 {
			s.found = append(s.found, m[1])
		}
		if s.patterns = s.patterns[1:]; len(s.patterns) == 0 {
			close(s.done)
		}
	}
	return len(p), nil
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
