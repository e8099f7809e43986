package demo

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/deadletters"

	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// maxGroups is how many groups of dead letters the screen has room for.
const maxGroups = 6

// firstScreen is what the first pass came to.
type firstScreen struct {
	topics  config.Topics
	source  string
	output  string
	tally   *tally
	tiers   []consumer.TierProgress
	groups  []deadletters.Group
	replies map[replyKind]int64
	took    time.Duration
}

func (s firstScreen) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nFIRST PASS: %s events in %s\n\n", thousands(s.tally.balance.Consumed), brief(s.took))
	fmt.Fprintf(&b, "Where every record is, counted from the topics with read_committed:\n")
	b.WriteString(table(s.source, s.output, s.topics, s.tally.balance))
	fmt.Fprintf(&b, "\nRetries, and how late they began (never early):\n")
	for _, t := range s.tiers {
		fmt.Fprintf(&b, "  %-20s %8s retried", t.Topic, thousands(t.Retried))
		if t.Retried > 0 {
			fmt.Fprintf(&b, "   late by %s (p50), %s (p99)", brief(t.LatenessP50), brief(t.LatenessP99))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "  Delivered at attempt %s\n", attempts(s.tally.tries))
	fmt.Fprintf(&b, "  The place-name service: %s\n", replies(s.replies))
	fmt.Fprintf(&b, "\nDead letters, by reason:\n")
	b.WriteString(groups(s.groups))
	fmt.Fprintf(&b, "\nDelivered, for example:\n")
	b.WriteString(s.tally.samples.String())
	return b.String()
}

// table is one conservation table with its equation.
func table(source, output string, topics config.Topics, b Balance) string {
	var out strings.Builder
	row := func(name string, n int64, where string) {
		fmt.Fprintf(&out, "  %-14s %8s   %s\n", name, thousands(n), where)
	}
	row("consumed", b.Consumed, source)
	row("delivered", b.Delivered, output)
	row("dead_lettered", b.DeadLettered, topics.DLQ)
	row("duplicates", b.Duplicates, topics.Audit)
	row("superseded", b.Superseded, topics.Audit)
	row("filtered", b.Filtered, topics.Audit)
	row("waiting", b.Waiting, topics.TierPrefix+"*")
	verdict := "balances: none lost, none doubled"
	if !b.Holds() {
		verdict = fmt.Sprintf("DOES NOT BALANCE: %s lost, %s doubled, %s waiting", thousands(b.Lost), thousands(b.Doubled), thousands(b.Waiting))
	}
	fmt.Fprintf(&out, "  %s = %s + %s + %s + %s + %s   %s\n", thousands(b.Consumed), thousands(b.Delivered),
		thousands(b.DeadLettered), thousands(b.Duplicates), thousands(b.Superseded), thousands(b.Filtered), verdict)
	return out.String()
}

// attempts says how many records needed how many.
func attempts(tries map[int]int64) string {
	var parts []string
	for _, n := range slices.Sorted(maps.Keys(tries)) {
		parts = append(parts, fmt.Sprintf("%d: %s", n, thousands(tries[n])))
	}
	return strings.Join(parts, ", ")
}

// replies says in one line what the service did.
func replies(counts map[replyKind]int64) string {
	words := map[replyKind]string{
		replyAnswer: "answered at once", replySlow: "slow", replyStuck: "never in time",
		replyTooMany: "× 429 with Retry-After", replyUnavailable: "× 503", replyOutage: "× 503 in its outage",
	}
	var parts []string
	for _, kind := range replyKinds() {
		if n := counts[kind]; n > 0 {
			parts = append(parts, thousands(n)+" "+words[kind])
		}
	}
	if len(parts) == 0 {
		return "nobody asked"
	}
	return strings.Join(parts, ", ")
}

// groups lists dead letters by cause.
func groups(all []deadletters.Group) string {
	if len(all) == 0 {
		return "  none\n"
	}
	var out strings.Builder
	for i, g := range all {
		if i == maxGroups {
			fmt.Fprintf(&out, "  and %d groups more: replayer groups shows them\n", len(all)-maxGroups)
			break
		}
		fmt.Fprintf(&out, "  %6s  %-20s %s\n", thousands(g.Count), g.Code, cli.CutText(g.Said, 90))
	}
	return out.String()
}

// String shows the samples, one a geometry type.
func (s samples) String() string {
	var out strings.Builder
	for _, kind := range []string{"Point", "LineString", "Polygon"} {
		one, ok := s.byGeometry[kind]
		if !ok {
			continue
		}
		tries := "at the first attempt"
		if one.attempts > 1 {
			tries = fmt.Sprintf("at attempt %d", one.attempts)
		}
		fmt.Fprintf(&out, "  %s (%s, %s)\n    %s\n", one.key, one.geometry, tries, cli.CutText(one.properties, 220))
	}
	if out.Len() == 0 {
		return "  nothing\n"
	}
	return out.String()
}

// dryRun is what today's transform makes of the dead letters.
func dryRun(s plan.Summary, outlook []plan.Outcome) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\nTHE FIX: geometry.validity from reject to flag (examples/demo/pipeline.fixed.yaml)\n\n")
	fmt.Fprintf(&out, "Dry run on the %s dead letters: %s would pass now, %s would fail again.\n",
		thousands(s.Selected), thousands(s.WouldPass), thousands(s.WouldFail))
	for _, o := range outlook {
		verdict := "would pass"
		if o.Action != plan.Reinject {
			verdict = string(o.Action) + ": " + o.Message
		} else if !o.Passes {
			verdict = "would fail again: " + o.Message
		}
		fmt.Fprintf(&out, "  %6s  %-20s %s\n", thousands(o.Count), o.Died, cli.CutText(verdict, 90))
	}
	return out.String()
}

// secondScreen is what the replay came to.
type secondScreen struct {
	topics         config.Topics
	source, output string
	balance        Balance
	result         replay.Result
	letters        map[deadletters.Status]int
	took           time.Duration
}

func (s secondScreen) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nSECOND PASS: %s dead letters replayed, %s left as they are, in %s\n\n",
		thousands(s.result.Reinjected), thousands(s.result.Left), brief(s.took))
	fmt.Fprintf(&b, "Where every record is after both passes (a replayed dead letter is consumed once more):\n")
	b.WriteString(table(s.source, s.output, s.topics, s.balance))
	var states []string
	for _, status := range deadletters.Statuses() {
		if n := s.letters[status]; n > 0 {
			states = append(states, thousands(n)+" "+string(status))
		}
	}
	if len(states) > 0 {
		fmt.Fprintf(&b, "  The dead letters: %s\n", strings.Join(states, ", "))
	}
	return b.String()
}
