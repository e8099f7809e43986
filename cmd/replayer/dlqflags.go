package main

import (
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// dlqFlags holds the flags that name the DLQ and its index.
type dlqFlags struct {
	named                    config.DLQ // without a pipeline; only its topic may be combined with a pipeline file
	index, dialect, stateDir string
	gone, rebuild            bool
}

const (
	stateFlag = "state-dir"
	auto      = "auto" // the dialect of each dead letter, by its headers

	besidePipeline = "beside-pipeline" // annotates a --topic that is allowed beside a pipeline file
)

// register adds the flags of commands that only read dead letters.
func (r *dlqFlags) register(cmd *cobra.Command) {
	r.registerIndex(cmd)
	r.registerTopic(cmd, "a DLQ of other software, instead of the pipeline's own; with --brokers or --profile no pipeline file is needed")
	mustComplete(cmd.Flags().SetAnnotation("topic", besidePipeline, nil))
}

// registerOwn adds the flags of commands that select dead letters to change them.
func (r *dlqFlags) registerOwn(cmd *cobra.Command) {
	r.registerIndex(cmd)
	r.registerDLQ(cmd)
}

// registerDLQ adds the flags that name a DLQ without a pipeline.
func (r *dlqFlags) registerDLQ(cmd *cobra.Command) {
	r.registerTopic(cmd, "a DLQ of other software, without a pipeline file; with --brokers or --profile")
}

func (r *dlqFlags) registerTopic(cmd *cobra.Command, about string) {
	f := cmd.Flags()
	f.StringSliceVar(&r.named.Brokers, "brokers", nil, "host:port of some brokers, for a DLQ (--topic) without a pipeline file")
	f.StringVar(&r.named.Registry, "registry", "", "URL of the schema registry of the values, for a DLQ without a pipeline file")
	f.StringVar(&r.named.Profile, "profile", "", "connection to the brokers: a name from the file of profiles; instead of a pipeline file")
	f.StringVar(&r.named.Profiles, "profiles", "", "the file of profiles (default: switchback/profiles.yaml in the user's configuration folder)")
	f.StringVar(&r.named.Topic, "topic", "", about)
	f.StringVar(&r.dialect, "dialect", auto, "software that wrote the DLQ: "+auto+" uses the headers of each dead letter; otherwise "+strings.Join(dialectWords()[1:], ", "))
	f.StringVar(&r.stateDir, stateFlag, "", "without a pipeline: keep states, audit and jobs in this directory, for a cluster that allows no topics; see any-dlq.md for what that loses")
	mustComplete(cmd.MarkFlagDirname(stateFlag))
	mustComplete(cmd.RegisterFlagCompletionFunc("dialect", words(dialectWords())))
}

// registerIndex adds the flag that names the index.
func (r *dlqFlags) registerIndex(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.index, "index", "", "where the SQL index is: a file, :memory:, or a postgres:// address (default: replayer.index of the pipeline file, else a file in the user's cache folder)")
}

// registerGone adds the flag of commands that select dead letters only to read them.
func (r *dlqFlags) registerGone(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.gone, "gone", false, "only dead letters that the topic no longer has, instead of the present ones")
}

func dialectWords() []string { return append([]string{auto}, texts(dialects.Dialects())...) }

// ofDialect returns the dialect that the command line names, or "" to detect it by the headers of each dead letter.
func (r *dlqFlags) ofDialect() (dialects.Dialect, error) {
	d := dialects.Dialect(r.dialect)
	switch {
	case r.dialect == auto || r.dialect == "":
		return "", nil
	case !d.Valid():
		return "", cli.UsageError("unknown dialect %q; use one of %s", r.dialect, strings.Join(dialectWords(), ", "))
	}
	return d, nil
}

// cluster reports whether flags name the brokers.
func (r *dlqFlags) cluster() bool {
	return len(r.named.Brokers) > 0 || r.named.Profile != "" || r.named.Profiles != "" || r.named.Registry != ""
}

// alone reports whether the command line names a DLQ without a pipeline.
func (a *app) alone() bool { return a.configFile == "" && a.dlqFlags.cluster() }

// dlq returns the configuration of the DLQ that the command line names: a pipeline's, or one without a pipeline.
// Commands that only read also take --topic beside a pipeline file: a DLQ of other software on the pipeline's cluster.
func (a *app) dlq() (*config.Config, error) {
	r := &a.dlqFlags
	_, beside := a.cmd.Flags().Lookup("topic").Annotations[besidePipeline]
	switch {
	case a.configFile != "" && r.cluster():
		return nil, cli.UsageError("-c names a pipeline file, which says how its brokers are reached: leave --brokers, --profile, --profiles and --registry out, or -c")
	case a.configFile == "" && !a.alone():
		return nil, cli.UsageError("which pipeline? %w; for example: -c pipeline.yaml; a DLQ without one is named by --brokers (or --profile) and --topic", cli.ErrNoPipelineFile)
	case !a.alone() && !beside && r.named.Topic != "":
		return nil, cli.UsageError("--topic names a DLQ without a pipeline here: name its brokers with --brokers or --profile, and no pipeline file")
	case !a.alone() && r.stateDir != "":
		return nil, cli.UsageError("--%s is for a DLQ without a pipeline, which --brokers (or --profile) and --topic name: a pipeline keeps its states in its topics", stateFlag)
	}
	load := func() (*config.Config, error) { return config.Load(a.configFile) }
	if a.alone() {
		load = func() (*config.Config, error) { return config.LoadDLQ(r.named) }
	}
	cfg, err := load()
	if err != nil {
		return nil, exit(cli.ExitUsage, err)
	}
	return cfg, nil
}

// query returns the query of a filter.
func (a *app) query(f deadletters.Filter) dlqindex.Query {
	return dlqindex.Query{Filter: f, Gone: a.dlqFlags.gone, Slow: sync.OnceFunc(a.explainSlowness)}
}

// dlqText returns the flags that name the DLQ, for a printed command.
func (a *app) dlqText() string {
	file := ""
	if a.configFile != "" {
		file = " -c " + cli.ShellWord(a.configFile)
	}
	return strings.TrimSpace(file + a.givenFlags("brokers", "profile", "profiles", "registry", "topic", "dialect", stateFlag, "index"))
}
