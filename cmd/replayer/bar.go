package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/replay"
)

// bar shows the progress of a replay in one line of the standard error, if that is a terminal.
type bar struct {
	app   *app
	drawn bool
	next  time.Time
}

// barPause is the minimum time between two updates.
const barPause = 100 * time.Millisecond

func (a *app) bar() *bar { return &bar{app: a} }

// show redraws the line.
func (b *bar) show(p replay.Progress) {
	if !b.app.env.ErrTerminal {
		return
	}
	now := time.Now()
	if now.Before(b.next) && p.Phase != replay.Broker {
		return
	}
	b.next, b.drawn = now.Add(barPause), true
	text := progressText(p)
	if b.app.env.Width > 1 {
		text = cli.CutText(text, b.app.env.Width-1)
	}
	fmt.Fprintf(b.app.env.Err, "\r\x1b[K%s", text)
}

// clear removes the line.
func (b *bar) clear() {
	if b.drawn {
		fmt.Fprint(b.app.env.Err, "\r\x1b[K")
	}
}

const barWidth = 24

// progressText returns the progress of a replay in one line.
func progressText(p replay.Progress) string {
	done, all := p.Settled, p.Letters
	what := fmt.Sprintf("%d of %d dead letters", p.Settled, p.Letters)
	switch p.Phase {
	case replay.Broker:
		return "the broker is lost, waiting for it: " + cli.CleanText(p.Err.Error(), cli.OneLine)
	case replay.Sending:
		what += " sent"
	case replay.Gating:
		what += fmt.Sprintf(", wave %d: waiting for the consumer", p.Wave)
	case replay.Waiting:
		done, all = p.Outcome.Finished(), p.Sent
		what = fmt.Sprintf("the consumer finished %d of %d dead letters", done, all)
	}
	if p.Watched != nil {
		done, all = p.Settled, p.Letters
		what = fmt.Sprintf("%d sent, %s", p.Sent, watchedText(p.Watched))
	}
	filled := 0
	if all > 0 {
		filled = min(barWidth, done*barWidth/all)
	}
	text := "[" + strings.Repeat("#", filled) + strings.Repeat(".", barWidth-filled) + "] " + what
	if p.Watched != nil {
		text += fmt.Sprintf("; %d died again", p.Outcome.FailedAgain)
	} else if p.Outcome.Finished() > 0 || p.Phase != replay.Sending {
		text += fmt.Sprintf("; %d reprocessed, %d failed again", p.Outcome.Reprocessed, p.Outcome.FailedAgain)
	}
	return text
}

// watchedText describes what the replay of a DLQ without a pipeline waits for.
func watchedText(w *replay.Watched) string {
	switch {
	case w.Group == "" || w.Behind == 0:
		return fmt.Sprintf("waiting %s more to see whether any fails again", w.Grace.Round(time.Second))
	case w.Behind < 0:
		return "reading the committed offsets of group " + w.Group
	default:
		return fmt.Sprintf("group %s has %d offsets before it", w.Group, w.Behind)
	}
}
