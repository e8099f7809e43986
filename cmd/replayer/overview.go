package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay"
)

// watching are the flags of a view that is drawn again and again.
type watching struct {
	on    bool
	every time.Duration
}

// leastEvery and mostEvery bound how often it is drawn. lookBound is how long the brokers may take for one look.
const (
	leastEvery, mostEvery = 500 * time.Millisecond, time.Hour
	lookBound             = 10 * time.Second
)

func (w watching) check() error {
	if w.on && (w.every < leastEvery || w.every > mostEvery) {
		return usage("--every %s: from %s to %s", w.every, leastEvery, mostEvery)
	}
	return nil
}

func (a *app) runOverview(ctx context.Context, w watching) error {
	s, err := a.service(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	overview := s.Overview()
	if w.on {
		return a.watchOverview(ctx, overview, w.every)
	}
	look, err := overview.Look(ctx)
	if err != nil {
		return err
	}
	if err := a.writeOverview(look); err != nil {
		return err
	}
	foreign, err := s.ForeignOutcomes(ctx)
	if err == nil && foreign.Outcomes > 0 {
		fmt.Fprintf(a.env.Err, "warning: %s not counted, since the dead letter was not in that replay (a copy of a replay record in the source topic?); the first: %s\n",
			count(foreign.Outcomes, "outcome"), foreign.First)
	}
	return err
}

// watchOverview shows looks until the command is interrupted, which is its end and no failure. A first look that fails ends it; a later
// one is said, with the age of what is shown. The first look may read a long topic, and has no bound.
func (a *app) watchOverview(ctx context.Context, o *replay.Overview, every time.Duration) error {
	look, trouble := o.Look(ctx)
	size := cli.TerminalSize(a.env.Out)
	for ctx.Err() == nil {
		if look.At.IsZero() {
			return trouble
		}
		if err := a.showOverview(look, trouble, size); err != nil {
			return err
		}
		_ = kafka.Pause(ctx, every) // the loop sees that the context has ended
		var next replay.Look
		if next, trouble = boundedLook(ctx, o, max(every, lookBound)); trouble == nil {
			look = next
		}
	}
	return nil
}

func boundedLook(ctx context.Context, o *replay.Overview, bound time.Duration) (replay.Look, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	return o.Look(ctx)
}

// showOverview draws a look, or prints it. trouble is why there is no newer one.
func (a *app) showOverview(look replay.Look, trouble error, size func() (width, height int, terminal bool)) error {
	width, height, terminal := size()
	switch {
	case terminal && a.output == "table":
		return cli.RedrawScreen(a.env.Out, overviewScreen(a.env, look, trouble, width, height))
	case trouble != nil:
		_, err := fmt.Fprintln(a.env.Err, "replayer: no new look: "+cli.CleanText(trouble.Error(), cli.OneLine))
		return err
	}
	return a.writeOverview(look)
}

func (a *app) writeOverview(look replay.Look) error {
	if a.output != "table" {
		if look.Replays == nil {
			look.Replays = []replay.Underway{}
		}
		return a.object(look)
	}
	text, err := overviewText(a.env, look)
	if err != nil {
		return err
	}
	_, err = a.env.Out.Write(text)
	return err
}

// overviewScreen is what a terminal shows of a look (see [screen.Fit]). trouble is why there is no newer one.
func overviewScreen(env Env, look replay.Look, trouble error, width, height int) []string {
	env.Width, env.Color = width, false // a cut line could end in the middle of a colour
	text, err := overviewText(env, look)
	if err != nil {
		trouble = err
	}
	head := look.At.UTC().Format("2006-01-02 15:04:05") + " UTC\n" + cli.StaleLine(look.At, env.Now(), trouble)
	return cli.FitScreen(head+string(text), width, height)
}

// overviewText is a look for people.
func overviewText(env Env, look replay.Look) ([]byte, error) {
	var b bytes.Buffer
	for _, obstacle := range look.Obstacles {
		fmt.Fprintln(&b, wrapped(env, "Note: "+cli.CleanText(obstacle.Text, cli.OneLine), "      "))
	}
	if look.AtWork != "" {
		fmt.Fprintln(&b, "at work: "+cli.CleanText(look.AtWork, cli.OneLine))
	}
	if err := writeJobs(&b, env, look.Jobs); err != nil {
		return nil, err
	}
	if len(look.Replays) == 0 {
		fmt.Fprintf(&b, "no replay is in progress; %s\n", count(look.Finished, "replay")+" finished")
		return b.Bytes(), nil
	}
	t := table{columns: []column{
		{title: "IN PROGRESS", right: true}, {title: "REPROCESSED", right: true}, {title: "FAILED", right: true}, {title: "CLOSED", right: true}, {title: "LEFT", right: true}, {title: "REPLAY", below: true},
	}}
	for _, r := range look.Replays {
		t.add(strconv.Itoa(r.UnderWay), strconv.Itoa(r.Reprocessed), strconv.Itoa(r.FailedAgain), strconv.Itoa(r.Closed), leftText(r), r.ReplayID)
		if r.Theirs > 0 {
			t.note(fmt.Sprintf("%s: other software has them, and says nothing when it succeeds", count(r.Theirs, "dead letter")))
		}
	}
	err := t.write(&b, env)
	return b.Bytes(), err
}

// leftText is how long a replay takes, "?" while nothing of it is finished.
func leftText(r replay.Underway) string {
	switch {
	case r.Rate == nil:
		return "-"
	case r.Left == nil:
		return "?"
	}
	return time.Duration(*r.Left * float64(time.Second)).Round(time.Second).String()
}
