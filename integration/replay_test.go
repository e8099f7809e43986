package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/conservation"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/misbehave"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
)

// These exit codes are defined in architecture, section 9. exitNothing: the command found nothing to do. exitPartial: it
// did only a part. exitRefused: it needs --execute, --all or --expect, or another replayer took over before it changed
// anything. exitStopped: another replayer took over later.
const (
	exitNothing = 3
	exitPartial = 4
	exitRefused = 5
	exitStopped = 6
)

// makeDead creates n dead letters and then fixes their cause.
func (p *pipe) makeDead(n int) []*kgo.Record {
	p.t.Helper()
	all := ids("d", n)
	p.places.Default(misbehave.Status(404))
	sent := p.send(all...)
	p.drain().wantBalanced(p.t)
	wantTotals(p.t, p.verify(), n, conservation.Place{DeadLetters: n})
	p.places.Default(misbehave.OK())
	return sent
}

func (p *pipe) replay(args ...string) (code int, stdout string) {
	p.t.Helper()
	args = append([]string{"replay", "-c", p.file, "--reason", "the service is fixed"}, args...)
	if slices.Contains(args, "--execute") {
		args = append(args, p.consentFlags(args)...)
	}
	r := p.run("replayer", args...)
	must.That(p.t, r.Code == 0 || r.Code == exitNothing || r.Code == exitRefused, "replayer replay %v: %s", args, r)
	return r.Code, r.Stdout
}

// mustReplay runs a replay that must reinject something.
func (p *pipe) mustReplay(args ...string) {
	p.t.Helper()
	code, out := p.replay(args...)
	must.That(p.t, code == 0, "exit code %d\n%s", code, out)
}

// consentFlags returns the flags with which an operator confirms the number of dead letters, as the dry run prints them.
func (p *pipe) consentFlags(args []string) []string {
	p.t.Helper()
	dry := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--execute" })
	_, command, _ := strings.Cut(p.run("replayer", dry...).Stderr, "To do it:")
	flags := strings.Fields(strings.Join(printedConsent.FindAllString(command, -1), " "))
	if command == "" && !slices.ContainsFunc(args, func(arg string) bool {
		return slices.Contains([]string{"--id", "--code", "--feature", "--limit", "--status"}, arg)
	}) {
		flags = []string{"--all"} // nothing matched, so no command is printed
	}
	return flags
}

// printedConsent matches the flags that a dry run prints for the number of dead letters.
var printedConsent = regexp.MustCompile(` --all\b| --expect \d+`)

// state has the fields of a dead letter's state record that tests read.
type state struct {
	ID, Status, Source string
	ReprocessCount     int    `json:"reprocess_count"`
	ReplayID           string `json:"replay_id"`
}

// states returns the latest state record of each dead letter.
func (p *pipe) states() map[string]state {
	p.t.Helper()
	last := map[string]state{}
	for _, r := range p.read(p.statusTopic) {
		if strings.HasPrefix(string(r.Key), "audit-chain/") {
			continue // not a dead letter
		}
		var s state
		err := json.Unmarshal(r.Value, &s)
		expect.That(p.t, err == nil && s.ID == string(r.Key), "state record %s: id %q, %v", topiclog.Describe(r), s.ID, err)
		last[s.ID] = s
	}
	return last
}

func (p *pipe) wantStates(n int, status string) {
	p.t.Helper()
	p.wantStateCounts(map[string]int{status: n})
}

func (p *pipe) wantStateCounts(want map[string]int) {
	p.t.Helper()
	count := map[string]int{}
	for _, s := range p.states() {
		count[s.Status]++
	}
	expect.That(p.t, maps.Equal(count, want), "states of the dead letters: %v, want %v", count, want)
}

// C-4, S4-8: a dry run changes nothing. A replay reinjects each dead letter once, and a second replay finds nothing to
// do.
func TestReplay_C4_S4_8(t *testing.T) {
	parallel(t, testrun.Proof)
	const n = 40
	p := newPipe(t, 90*time.Second).ensure()
	p.makeDead(n)
	t.Run("dry_run_changes_nothing", func(t *testing.T) {
		before := p.states()
		p.replay()
		expect.Equal(t, len(p.states()), len(before), "states after the dry run")
		wantTotals(t, p.verify(), n, conservation.Place{DeadLetters: n})
	})
	t.Run("execute_puts_each_back_once", func(t *testing.T) {
		p.mustReplay("--execute")
		wantTotals(t, p.verify(), n, conservation.Place{DeadLetters: n, Replays: n, Unread: n})
		p.wantStates(n, "replaying")
	})
	t.Run("sent_is_not_processed", func(t *testing.T) {
		code, out := p.replay("--execute")
		expect.That(t, code == exitNothing, "exit code %d, want %d: the dead letters are already being replayed\n%s", code, exitNothing, out)
		wantTotals(t, p.verify(), n, conservation.Place{DeadLetters: n, Replays: n, Unread: n})
	})
	t.Run("the_consumer_closes_the_loop", func(t *testing.T) {
		p.drain()
		wantTotals(t, p.verify(), n, conservation.Place{DeadLetters: n, Replays: n, Output: n})
		p.wantStates(n, "reprocessed")
	})
	t.Run("again_finds_nothing", func(t *testing.T) {
		code, out := p.replay("--execute")
		expect.That(t, code == exitNothing, "exit code %d, want %d\n%s", code, exitNothing, out)
		wantTotals(t, p.verify(), n, conservation.Place{DeadLetters: n, Replays: n, Output: n})
	})
}

// C-4, S4-8: replayed dead letters that fail again are pending again under the same ID, and can be replayed once more.
// After the third failed replay, a dead letter is escalated, and replays skip it.
func TestReplayDiesAgain_C4_S4_6_S4_8(t *testing.T) {
	parallel(t, testrun.Fast)
	const n = 10
	p := newPipe(t, 2*time.Minute).ensure()
	p.makeDead(n)
	p.places.Default(misbehave.Status(403))
	p.replay("--execute")
	p.drain().wantBalanced(t)
	wantTotals(t, p.verify(), n, conservation.Place{DeadLetters: 2 * n, Replays: n})
	p.wantStates(n, "pending")
	deaths := map[string]int{}
	for _, r := range p.read(p.topics.DLQ) {
		id, _ := topiclog.Header(r, "switchback-dead-letter-id")
		deaths[id]++
	}
	for id, count := range deaths {
		expect.That(t, count == 2, "dead letter %s has %d records, want 2 under one id", id, count)
	}
	for _, id := range ids("d", n)[:n/2] {
		p.places.Script(id, misbehave.OK())
	}
	for range 2 {
		p.replay("--execute")
		p.drain().wantBalanced(t)
	}
	wantTotals(t, p.verify(), n, conservation.Place{DeadLetters: 3 * n, Replays: 2*n + n/2, Output: n / 2})
	p.wantStateCounts(map[string]int{"reprocessed": n / 2, "escalated": n / 2})
	code, _ := p.replay("--execute")
	expect.That(t, code == exitNothing, "a replay took escalated dead letters (exit code %d)", code)
}

// C-4, decision 0033: A, B, A is three changes, even if one or both of the A became dead letters. An older dead
// letter is closed in favour of a newer event with the same content, never the other way round. If the replayer
// cannot distinguish a repetition from a change, the consumer closes the repetition.
func TestReplayTakesTheNewestOfAContent_C4(t *testing.T) {
	parallel(t, testrun.Fast)
	const n = 5
	for name, c := range map[string]struct {
		replayed bool // the first dead letter, before any other event
		between  bool // another event took effect
		want     []int
		states   map[string]int
	}{
		"replayed together": {false, true, []int{2, 1}, map[string]int{"reprocessed": n, "duplicate": n}},
		"replayed apart":    {true, true, []int{1, 2, 1}, map[string]int{"reprocessed": 2 * n}},
		"nothing between":   {false, false, []int{1}, map[string]int{"reprocessed": n, "duplicate": n}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPipe(t, 2*time.Minute).ensure()
			dies := func() {
				p.places.Default(misbehave.Status(404))
				p.sendAt(1, ids("d", n)...)
				p.drain()
				p.places.Default(misbehave.OK())
			}
			dies()
			if c.replayed {
				p.replay("--execute")
				p.drain().wantBalanced(t)
			}
			if c.between {
				p.sendAt(2, ids("d", n)...)
				p.drain().wantBalanced(t)
			}
			dies()
			p.replay("--execute")
			p.drain().wantBalanced(t)
			p.wantLevels(n, c.want...)
			p.wantStateCounts(c.states)
		})
	}
}

// C-4: a replay is killed at random moments, in an open transaction or between two. A repeated replay reinjects each
// remaining dead letter once.
func TestReplayKilled_C4(t *testing.T) {
	parallel(t, testrun.Proof, needRealKafka)
	type size struct {
		deadLetters, kills, within int
		rateFlags                  []string
	}
	// Small transactions, so that the kills hit before the first, within one, and between two. The rate is low, so the
	// replayer still runs when the test sees the record to kill it at.
	sizes := map[string]size{"small transactions": {2000, 5, 100, []string{"--rate", "200/s"}}}
	if testrun.IsNightly(t) {
		sizes["many kills"] = size{6000, 20, 250, []string{"--rate", "1000/s"}}
		// Large transactions: the replayer prepares the next one while one is in progress.
		sizes["as fast as it goes"] = size{9000, 6, 2500, nil}
	}
	for name, c := range sizes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(testrun.Seed(t), 0))
			p := newPipe(t, 8*time.Minute, func(s *settings) { s.Partitions = 6 }).ensure()
			p.makeDead(c.deadLetters)
			hit, source := 0, p.tailExisting(p.topics.Source)
			for range c.kills {
				args := append([]string{"replay", "-c", p.file, "--reason", "kill", "--execute", "--take-over"}, c.rateFlags...)
				if p.killAfterWrites(source, 1+random.IntN(c.within), append(args, p.consentFlags(args)...)...) {
					hit++
				}
			}
			_, sum := p.verify().Totals()
			t.Logf("%d of %d kills hit a running replayer; after the kills: %+v", hit, c.kills, sum)
			expect.That(t, hit != 0, "none of %d kills hit a running replayer", c.kills)
			p.replay("--execute")
			p.drain().wantBalanced(t)
			wantTotals(t, p.verify(), c.deadLetters, conservation.Place{DeadLetters: c.deadLetters, Replays: c.deadLetters, Output: c.deadLetters})
			p.wantStates(c.deadLetters, "reprocessed")
			p.runConsumer("verify", "audit")
		})
	}
}

// C-4: two operators apply overlapping plans at the same time, in two processes. Each dead letter is reinjected once.
func TestReplayTwoOperators_C4(t *testing.T) {
	parallel(t, testrun.Proof)
	const n = 1200
	rounds := 1
	if testrun.IsNightly(t) {
		rounds = 3
	}
	p := newPipe(t, 4*time.Minute).ensure()
	p.makeDead(n)
	plan := func(name string, args ...string) string {
		file := filepath.Join(t.TempDir(), name)
		r := p.run("replayer", append([]string{"plan", "-c", p.file, "-f", file}, args...)...)
		must.That(t, r.Code == 0, "replayer plan: %s", r)
		return file
	}
	apply := func(file string, args ...string) *proc.Process {
		return proc.Start(t, p.spec("replayer", append([]string{"replay", "--plan", file, "-c", p.file, "--execute", "--reason", "at once"}, args...)...))
	}
	half, all := plan("half", "--limit", fmt.Sprint(n/2)), plan("all")
	for round := range rounds {
		how := []string{"--rate", "2000/s"}
		if round > 0 || rounds == 1 { // both take over the lease; otherwise, in the first round, one of them reports the other
			how = append(how, "--take-over")
		}
		one, other := apply(half, how...), apply(all, how...)
		for _, r := range []proc.Result{one.Wait(p.ctx, t), other.Wait(p.ctx, t)} {
			// A replayer may do all of the work, do a part, report the other one, or be fenced before or after its
			// first transaction.
			fenced, refused := strings.Contains(r.Stderr, "took over"), strings.Contains(r.Stderr, "another replayer is at work")
			expect.That(t, r.Code == 0 || r.Code == 4 || r.Code == exitStopped && fenced || r.Code == exitRefused && (fenced || refused), "an operator: %s", r)
		}
	}
	r := apply(all).Wait(p.ctx, t)
	expect.That(t, r.Code == 0 || r.Code == 4, "the last replay: %s", r)
	p.replay("--execute")
	p.drain().wantBalanced(t)
	wantTotals(t, p.verify(), n, conservation.Place{DeadLetters: n, Replays: n, Output: n})
	p.wantStates(n, "reprocessed")
}
