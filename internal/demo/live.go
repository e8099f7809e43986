package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/consumer"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// watch shows the progress of one pass.
type watch struct {
	display  *display
	consumer *consumer.Consumer
	produced func() int64
	outage   func() time.Duration
	events   int
}

// How often a terminal is redrawn, and how often a log gets a line.
const (
	redraw = 200 * time.Millisecond
	news   = 4 * time.Second
)

// run shows the progress until the context ends, and then clears the block.
func (w *watch) run(ctx context.Context) {
	defer w.display.clear()
	start, told, down := time.Now(), time.Now(), false
	for kafka.Pause(ctx, redraw) == nil {
		f := frame{elapsed: time.Since(start), produced: w.produced(), events: w.events, outage: w.outage(), progress: w.consumer.Progress()}
		if out := f.outage > 0; out != down {
			down = out
			fmt.Fprint(w.display, f.announce())
		}
		if w.display.terminal {
			w.display.show(f.lines())
		} else if time.Since(told) >= news {
			told = time.Now()
			fmt.Fprintln(w.display, f.line())
		}
	}
}

// frame is the progress at one moment.
type frame struct {
	elapsed  time.Duration
	produced int64
	events   int
	outage   time.Duration // how long the outage still lasts; 0: none
	progress consumer.Progress
}

// announce tells that the outage begins or ends.
func (f frame) announce() string {
	if f.outage > 0 {
		return fmt.Sprintf("%s  OUTAGE: the place-name service answers 503 for %s.\n       Records that need it wait in a retry topic and are tried again.\n",
			f.clock(), brief(f.outage.Round(time.Second)))
	}
	return fmt.Sprintf("%s  The place-name service is back. Retries succeed as they fall due.\n", f.clock())
}

func (f frame) clock() string {
	return fmt.Sprintf("%02d:%02d", int(f.elapsed.Minutes()), int(f.elapsed.Seconds())%60)
}

// line is the progress in one line.
func (f frame) line() string {
	p := f.progress
	if f.produced < int64(f.events) {
		return fmt.Sprintf("%s  %s of %s produced, %s delivered, %s waiting, %s dead letters", f.clock(), thousands(f.produced), thousands(int64(f.events)),
			thousands(p.Delivered), thousands(f.waiting()), thousands(p.DeadLettered))
	}
	next := ""
	if due := f.nextDue(); !due.IsZero() {
		next = ", retries under way"
		if left := time.Until(due).Round(time.Second); left > 0 {
			next = ", the next due in " + brief(left)
		}
	}
	return fmt.Sprintf("%s  %s delivered, %s dead letters, %s waiting%s", f.clock(), thousands(p.Delivered), thousands(p.DeadLettered), thousands(f.waiting()), next)
}

// lines is the block on a terminal: the line, and one for each retry topic.
func (f frame) lines() []string {
	lines := []string{f.line()}
	for _, tier := range f.progress.Tiers {
		due := ""
		if tier.Waiting > 0 && !tier.NextDue.IsZero() {
			due = "next due in " + brief(max(time.Until(tier.NextDue), 0))
		}
		lines = append(lines, fmt.Sprintf("       %-18s %6s waiting  %-20s %7s retried", tier.Topic, thousands(tier.Waiting), due, thousands(tier.Retried)))
	}
	if f.outage > 0 {
		lines = append(lines, "       place-name service down for another "+brief(f.outage))
	}
	var codes []string
	for code, n := range f.progress.DeadByCode {
		codes = append(codes, fmt.Sprintf("%s %s", code, thousands(n)))
	}
	if slices.Sort(codes); len(codes) > 0 {
		lines = append(lines, "       DLQ: "+strings.Join(codes, ", "))
	}
	return lines
}

func (f frame) waiting() (n int64) {
	for _, tier := range f.progress.Tiers {
		n += tier.Waiting
	}
	return n
}

// nextDue returns when the next waiting record is due; zero if none waits.
func (f frame) nextDue() (next time.Time) {
	for _, tier := range f.progress.Tiers {
		if tier.Waiting > 0 && !tier.NextDue.IsZero() && (next.IsZero() || tier.NextDue.Before(next)) {
			next = tier.NextDue
		}
	}
	return next
}
