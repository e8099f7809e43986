package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/faults"
	"github.com/switchback-geo/switchback/integration/simulation/plan"
)

// options has the command line.
type options struct {
	seeds, from    uint64
	during, shrink time.Duration
	limit          time.Duration
	jobs           int
	kinds          string
	plan           string
	tally          string
	shard          string
	sum, logs      bool
	digests        bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "play:", err)
	}
	stop()
	os.Exit(code)
}

func parseOptions(args []string) (o options, err error) {
	f := flag.NewFlagSet("play", flag.ContinueOnError)
	f.Uint64Var(&o.seeds, "seeds", 100, "how many worlds; 0: until -for is over, or the command is interrupted")
	f.Uint64Var(&o.from, "from", 0, "first seed")
	f.DurationVar(&o.during, "for", 0, "stop after this time")
	f.DurationVar(&o.shrink, "shrink", 3*time.Minute, "how long to search for a smaller plan of the first world that fails; 0: not at all")
	f.DurationVar(&o.limit, "limit", 2*time.Minute, "real time that a world may take")
	f.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "number of worlds that run concurrently")
	f.StringVar(&o.kinds, "faults", "", "kinds of faults, separated by commas; all when empty, \"list\" to see them")
	f.StringVar(&o.plan, "plan", "", "run this plan only, as a failure prints it")
	f.StringVar(&o.tally, "tally", "", "file with the tally of the worlds that were run; worlds in it are not run again")
	f.StringVar(&o.shard, "shard", "0/1", "k/n: run only the seeds with the remainder k when divided by n")
	f.BoolVar(&o.sum, "sum", false, "print the content of the tally, and run nothing")
	f.BoolVar(&o.digests, "digests", false, "print a digest of each world, to compare two builds; after a change that only moves code a few worlds in a hundred differ, because the order of some maps depends on memory addresses")
	f.BoolVar(&o.logs, "logs", false, "print the engines' logs of worlds that fail")
	if err = f.Parse(args); err == nil && f.NArg() > 0 {
		err = fmt.Errorf("what is %q? The command has flags only", f.Arg(0))
	}
	return o, err
}

// Exit codes.
const (
	codeKept   = 0 // every guarantee was kept
	codeBroken = 1
	codeError  = 2 // of the command itself
)

func run(ctx context.Context, args []string, out io.Writer) (code int, err error) {
	o, err := parseOptions(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return codeKept, nil
	case err != nil:
		return codeError, err
	case o.kinds == "list":
		list(out)
		return codeKept, nil
	case o.sum:
		all, err := readTally(o.tally)
		if err != nil {
			return codeError, err
		}
		sum(out, all)
		return codeKept, nil
	}
	dir, err := os.MkdirTemp("", "switchback-worlds-")
	if err != nil {
		return codeError, err
	}
	defer os.RemoveAll(dir)
	began := time.Now()
	binary, unrepeatable, err := build(ctx, dir)
	if err != nil {
		return codeError, err
	}
	if unrepeatable != nil {
		fmt.Fprintf(out, "a seed repeats a plan, not a run, with %s: %v\n", runtime.Version(), unrepeatable)
	}
	fmt.Fprintf(out, "built in %v\n", time.Since(began).Round(time.Second))
	g := game{options: o, out: out, player: player{binary: binary, withLogs: o.logs, realTime: o.limit}}
	if err := g.prepare(ctx); err != nil {
		return codeError, err
	}
	failed, err := g.play(ctx)
	switch {
	case err != nil:
		return codeError, err
	case failed:
		return codeBroken, nil
	}
	return codeKept, nil
}

func list(out io.Writer) {
	for _, k := range faults.All() {
		fmt.Fprintf(out, "%-12s weight %2d\n", k.Name, k.Weight)
	}
}

// prepare reads the files that the options name.
func (g *game) prepare(ctx context.Context) error {
	kinds, err := faults.Choose(g.kinds)
	if err != nil {
		return err
	}
	g.drawn = faults.Plans(kinds)
	if g.options.plan != "" {
		p, err := plan.Parse(g.options.plan)
		if err != nil {
			return err
		}
		g.only = &p
		return nil
	}
	g.entry = entry{Commit: commit(ctx), Faults: g.kinds, From: g.from}
	if _, err := fmt.Sscanf(g.shard, "%d/%d", &g.entry.Shard, &g.entry.Shards); err != nil || g.entry.Shards < 1 || g.entry.Shard < 0 || g.entry.Shard >= g.entry.Shards {
		return fmt.Errorf("shard %q: want k/n with k from 0 and less than n", g.shard)
	}
	g.end = uint64(math.MaxUint64)
	if g.seeds > 0 {
		g.end = g.from + g.seeds
	}
	if g.tally == "" {
		return nil
	}
	all, err := readTally(g.tally)
	if err != nil {
		return err
	}
	g.entry.From = next(all, g.entry)
	return nil
}

// commit returns the name of the commit under test.
func commit(ctx context.Context) string {
	id, err := output(ctx, "git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "unknown"
	}
	if changes, err := output(ctx, "git", "status", "--porcelain"); err != nil || changes != "" {
		id += "+changes"
	}
	return strings.TrimSpace(id)
}
