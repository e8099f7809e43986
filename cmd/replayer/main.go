package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/switchback-geo/switchback/internal/cli"
)

func main() { os.Exit(run()) }

func run() int {
	boundMemory(memoryLimit, garbage)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal stops the command after the open transaction, a second one immediately. timeout(1) signals the process and then its
	// process group, so signals during a short pause after the first one are ignored.
	context.AfterFunc(ctx, func() { time.AfterFunc(100*time.Millisecond, stop) })

	fd := int(os.Stdout.Fd())
	terminal := term.IsTerminal(fd)
	width := 0
	if terminal {
		if columns, _, err := term.GetSize(fd); err == nil {
			width = columns
		}
	}
	return int(Run(ctx, Env{
		Out: os.Stdout, Err: os.Stderr, In: os.Stdin, InTerminal: term.IsTerminal(int(os.Stdin.Fd())), Terminal: terminal, ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())), Width: width,
		Color:   terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		Version: cli.ReadBuild(), Now: time.Now, ConfigFile: os.Getenv(cli.PipelineFileVariable),
	}, os.Args[1:]))
}

// These are the memory limit of the garbage collector and the garbage it allows, in percent of the live heap.
const (
	memoryLimit = 256 << 20 // a plan of a million letters fits into it
	garbage     = 50        // leaves room for SQLite, whose memory comes on top

	replayLimit   = 512 << 20 // the states of a million letters, and room not to collect all the time
	replayGarbage = 100
)

// boundMemory bounds the memory of the process, unless the environment does.
func boundMemory(limit int64, percent int) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// version prints the build of the program. It reads no pipeline file and connects to no broker.
func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show version and commit of this program, and how it was built",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.output == "table" {
				return a.env.Version.Text(a.env.Out, cmd.Root().Name())
			}
			return a.object(a.env.Version)
		},
	}
}

// commandGroups lists the commands by purpose.
func commandGroups() []cli.CommandGroup {
	return []cli.CommandGroup{
		{Title: "See", Commands: []string{"stats", "groups", "note", "list", "show", "export", "replays", "audit", "serve"}},
		{Title: "Put back", Commands: []string{"plan", "replay"}},
		{Title: "Change", Commands: []string{"edit", "discard", "escalate", "reopen", "undo", "prune"}},
		{Title: "Pause and continue", Commands: []string{"pause", "resume", "cancel"}},
		{Title: "Set up", Commands: []string{"index", "acls", "version"}},
	}
}

// commandExamples has the examples of each command by its path.
func commandExamples() map[string]string {
	return map[string]string{
		"stats":    "replayer stats -c pipeline.yaml\nreplayer stats -c pipeline.yaml --fail-on-warning",
		"note":     "replayer note -c pipeline.yaml 4a71c23c925a resurveyed",
		"groups":   "replayer groups -c pipeline.yaml --since 24h --values\nreplayer groups --brokers kafka:9092 --topic payments.DLT",
		"list":     "replayer list -c pipeline.yaml --code coercion_failed --limit 10",
		"show":     "replayer show -c pipeline.yaml 0-1042-1f9a\nreplayer show -c pipeline.yaml --out original.json 0-1042-1f9a",
		"export":   "replayer export -c pipeline.yaml --format geojson > dead.geojson",
		"replays":  "replayer replays -c pipeline.yaml --watch\nreplayer replays -c pipeline.yaml level-fix --wait",
		"audit":    "replayer audit -c pipeline.yaml --operations --since 7d\nreplayer audit -c pipeline.yaml --feature parcel-17",
		"serve":    "replayer serve -c pipeline.yaml\nreplayer serve --brokers kafka:9092 --topic payments.DLT",
		"plan":     "replayer plan -c pipeline.yaml --code coercion_failed -f level-fix.plan",
		"replay":   "replayer replay --brokers kafka:9092 --topic payments.DLT\nreplayer replay --brokers kafka:9092 --topic payments.DLT --expr \"value.status = upper(value.status)\"\nreplayer replay -c pipeline.yaml --code coercion_failed\nreplayer replay -c pipeline.yaml --code coercion_failed --expect 4800 --canary 5 --wait --execute --reason \"level in metres is read\"",
		"edit":     "replayer edit -c pipeline.yaml --set properties.AREA=0 0-1042-1f9a",
		"discard":  "replayer discard -c pipeline.yaml --code http_not_found --expect 1200 --execute --reason \"places that never were\"",
		"escalate": "replayer escalate -c pipeline.yaml --group 7febb8cd8213 --execute --reason \"the land register has to decide\"",
		"reopen":   "replayer reopen -c pipeline.yaml --id 0-1042-1f9a --execute --reason \"the place exists now\"",
		"undo":     "replayer undo -c pipeline.yaml 3f1c9c1e --execute --reason \"the wrong group\"",
		"pause":    "replayer pause -c pipeline.yaml level-fix",
		"resume":   "replayer resume -c pipeline.yaml level-fix",
		"cancel":   "replayer cancel -c pipeline.yaml level-fix",
		"prune":    "replayer prune -c pipeline.yaml --older-than 90d --execute --reason \"kept long enough\"",
		"index":    "replayer index -c pipeline.yaml\nreplayer index -c pipeline.yaml --check",
		"acls":     "replayer acls -c pipeline.yaml --principal User:desk --for replayer-write\nreplayer acls --brokers kafka:9092 --topic payments.DLT --principal User:desk --target payments",
		"version":  "replayer version\nreplayer version -o json",
	}
}
