package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/verify"
)

// width is the longest line that the demo prints, in columns: a terminal has at least 80.
const width = 79

// maxGroups bounds the groups of dead letters on the screen.
const maxGroups = 6

// page is a text of lines that fit the width.
type page struct{ strings.Builder }

// linef adds a line and cuts it at the width.
func (p *page) linef(format string, args ...any) {
	p.WriteString(cli.CutText(fmt.Sprintf(format, args...), width) + "\n")
}

// wrapf adds a line and wraps it at the width.
func (p *page) wrapf(indent, format string, args ...any) {
	p.WriteString(cli.WrapText(fmt.Sprintf(format, args...), width, indent) + "\n")
}

// causeIndent begins the further lines of a cause of death. Two causes can differ at their end alone.
const causeIndent = "          "

// books adds where every record is, by the report of verify.
func (p *page) books(s *settings, r *verify.Report) {
	cfg, all := s.before, r.All
	p.linef("\nWhere every record is, by `consumer verify records`:")
	for _, row := range []struct {
		name  string
		n     int64
		topic string
	}{
		{"records", all.Records, cfg.Source.Topic}, {"delivered", all.Delivered, cfg.Output.Topic}, {"dead letters", all.DeadLettered, cfg.Topics.DLQ},
		{"closed", all.Duplicates + all.Superseded + all.Filtered, cfg.Topics.Audit + " (duplicate, superseded, filtered)"},
		{"waiting", all.Waiting + all.Unread + all.InFlight, cfg.Topics.TierPrefix + "*"},
	} {
		p.linef("  %-14s %8s   %s", row.name, thousands(row.n), row.topic)
	}
	p.linef("  %s", r.Line())
}

// first is the report on the first pass.
func first(s *settings, took time.Duration, books *verify.Report, progress consumer.Progress, replies map[replyKind]int64, dead []deadletters.Group, shown map[string]sample) string {
	var p page
	p.linef("\nFIRST PASS: %s events in %s", thousands(books.All.Records), brief(took))
	p.books(s, books)
	p.linef("\nRetries, and how late they began (never early):")
	for _, t := range progress.Tiers {
		late := ""
		if t.Retried > 0 {
			late = fmt.Sprintf("   late by %s (p50), %s (p99)", brief(t.LatenessP50), brief(t.LatenessP99))
		}
		p.linef("  %-20s %8s retried%s", t.Topic, thousands(t.Retried), late)
	}
	p.wrapf("    ", "  The place-name service: %s", answers(replies))
	p.linef("\nDelivered, for example:")
	for _, kind := range slices.Sorted(maps.Keys(shown)) {
		one := shown[kind]
		p.linef("  %-11s %-9s at attempt %d, place_name: %s", one.key, one.geometry, one.attempts, one.place)
	}
	p.linef("\nDead letters, by reason:")
	for i, g := range dead {
		if i == maxGroups {
			p.linef("  and %d groups more: replayer groups shows them", len(dead)-maxGroups)
			break
		}
		p.wrapf(causeIndent, "  %6s  %-19s %s", thousands(g.Count), g.Code, g.Said)
	}
	return p.String()
}

// answers lists how the place-name service replied.
func answers(counts map[replyKind]int64) string {
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
		return "had no question"
	}
	return strings.Join(parts, ", ")
}

// dryRun is the report about the effect of the corrected mapping on the dead letters.
func dryRun(s plan.Summary, outlook []plan.Outcome) string {
	var p page
	p.linef("\nTHE FIX: geometry.validity from reject to flag")
	p.linef("(examples/demo/pipeline.fixed.yaml)\n")
	p.linef("Dry run on the %s dead letters: %s would pass now, %s would fail again.", thousands(s.Selected), thousands(s.WouldPass), thousands(s.WouldFail))
	for _, o := range outlook {
		verdict := "would pass"
		if o.Action != plan.Reinject {
			verdict = string(o.Action) + ": " + o.Message
		} else if !o.Passes {
			verdict = "would fail again, the first: " + o.Message
		}
		p.wrapf(causeIndent, "  %6s  %-19s %s", thousands(o.Count), o.Died, verdict)
	}
	return p.String()
}

// second is the report on the replay.
func second(s *settings, took time.Duration, books *verify.Report, replayed replay.Result) string {
	var p page
	p.linef("\nSECOND PASS: %s dead letters replayed, %s left as they are, in %s", thousands(replayed.Reinjected), thousands(replayed.Left), brief(took))
	p.books(s, books)
	return p.String()
}

// story summarizes the demo at the end: what happened, what became dead letters, and what fixed them.
func story(events int64, outage time.Duration, retried int64, dead []deadletters.Group, replayed replay.Result, books *verify.Report) string {
	counts := map[string]int{}
	for _, g := range dead {
		counts[g.Code] += g.Count
	}
	var died []string
	for _, code := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) }) {
		died = append(died, fmt.Sprintf("%s %s", thousands(counts[code]), code))
	}
	weather := "a service that failed now and then"
	if outage > 0 {
		weather = "an outage of " + brief(outage)
	}
	var p page
	p.linef("\nIN SHORT")
	p.linef("  %s events met %s: %s retries, none early.", thousands(events), weather, thousands(retried))
	p.wrapf("         ", "  Died:  %s.", strings.Join(died, ", "))
	p.linef("  Fixed: geometry.validity: flag instead of reject.")
	p.linef("         %s replayed and delivered, %s still dead.", thousands(replayed.Reinjected), thousands(books.All.DeadLettered))
	p.linef("  %s", books.Line())
	return p.String()
}

// thousands writes 4938 as 4,938.
func thousands[T int | int64](n T) string { return humanize.Comma(int64(n)) }

// brief writes a duration the way a person reads it: 0.4 ms, 350 ms, 1.4 s, 75 s.
func brief(d time.Duration) string {
	switch {
	case d > 0 && d < 10*time.Millisecond:
		return strconv.FormatFloat(d.Seconds()*1000, 'f', 1, 64) + " ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	default:
		return strconv.FormatFloat(d.Seconds(), 'f', 0, 64) + " s"
	}
}
