package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// reading is what all commands that look at letters have in common.
type reading struct {
	index, topic, dialect string
	stateDir              string // keeps states and audit events in place of topics; "" is none
	gone                  bool
	connection            connection
	foreign               bool // topic and connection may be named
	rebuild               bool // of the index
	background            bool // the index is refreshed by who answers from it
}

func (r *reading) register(cmd *cobra.Command) {
	r.registerIndex(cmd)
	r.registerTopic(cmd, "a DLQ of other software, instead of the pipeline's own; with --brokers or --profile no pipeline file is needed")
}

// registerDLQ adds the flags that name a DLQ without a pipeline.
func (r *reading) registerDLQ(cmd *cobra.Command) {
	r.registerTopic(cmd, "a DLQ of other software, without a pipeline file; with --brokers or --profile")
}

func (r *reading) registerTopic(cmd *cobra.Command, about string) {
	r.foreign = true
	f := cmd.Flags()
	r.connection.register(f)
	f.StringVar(&r.topic, "topic", "", about)
	f.StringVar(&r.dialect, "dialect", auto, "who wrote the DLQ: "+auto+" goes by the headers of each dead letter; else "+strings.Join(dialectWords()[1:], ", "))
	f.StringVar(&r.stateDir, stateFlag, "", "without a pipeline: keep states, audit and jobs in this directory, for a cluster that allows no topics; see any-dlq.md for what that loses")
	mustComplete(cmd.MarkFlagDirname(stateFlag))
	mustComplete(cmd.RegisterFlagCompletionFunc("dialect", words(dialectWords())))
}

// registerIndex adds the flag that says where dead letters are looked up.
func (r *reading) registerIndex(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.index, "index", "", "where the SQL index is: a file, :memory:, or a postgres:// address (default: replayer.index of the pipeline file, else a file in the user's cache folder)")
}

const stateFlag = "state-dir"

// auto stands for a dialect that is told by the headers.
const auto = "auto"

func dialectWords() []string {
	out := []string{auto}
	for _, d := range dialects.Dialects() {
		out = append(out, string(d))
	}
	return out
}

// registerGone adds the flag for commands that select letters.
func (r *reading) registerGone(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.gone, "gone", false, "only dead letters that the topic no longer has, instead of those that it has")
}

func (r *reading) query(a *app, f deadletters.Filter) dlqindex.Query {
	return dlqindex.Query{Filter: f, Gone: r.gone, Slow: sync.OnceFunc(a.looking)}
}

// browse opens the reading side; the caller closes it.
func (a *app) browse(ctx context.Context, r *reading) (*dlq.Service, error) {
	cfg, err := a.dlq(r)
	if err != nil {
		return nil, err
	}
	a.principal = kafka.Principal(cfg.Kafka)
	o := dlq.Options{
		Topic: r.topic, Alone: a.alone(r), StateDir: r.stateDir, Index: a.indexOptions(r), Logger: a.log(), KafkaOpts: a.env.KafkaOpts, Now: a.env.Now, Background: r.background,
	}
	if o.Dialect, err = r.ofDialect(); err != nil {
		return nil, err
	}
	a.foreignTopic = r.topic
	a.opened(r, cfg)
	return dlq.Open(ctx, cfg, o)
}

// indexOptions says where the index is, and what is told of it.
func (a *app) indexOptions(r *reading) dlqindex.Options {
	return dlqindex.Options{
		Place: r.index, Rebuild: r.rebuild, Progress: a.indexProgress(),
		Doubt: func(why string) { fmt.Fprintln(a.env.Err, "warning: "+cli.CleanText(why, cli.OneLine)) },
	}
}

// ofDialect is the dialect that was named; "" goes by the headers.
func (r *reading) ofDialect() (dialects.Dialect, error) {
	d := dialects.Dialect(r.dialect)
	switch {
	case r.dialect == auto || r.dialect == "":
		return "", nil
	case !d.Valid():
		return "", usage("unknown dialect %q; use one of %s", r.dialect, strings.Join(dialectWords(), ", "))
	}
	return d, nil
}

// indexProgress tells a person that the index is being filled, when that takes a while, and
// everybody when what it had is thrown away.
func (a *app) indexProgress() func(dlqindex.Progress) {
	shown, said := int64(-1), false
	return func(p dlqindex.Progress) {
		if p.Anew != "" && !said {
			said = true
			fmt.Fprintf(a.env.Err, "the index of %s is rebuilt: %s\n", cli.CleanText(p.Topic, cli.OneLine), cli.CleanText(p.Anew, cli.OneLine))
		}
		if p.Total < manyRecords || !a.env.Terminal {
			return
		}
		percent := p.Done * 100 / p.Total
		if percent == shown {
			return
		}
		shown = percent
		end := ""
		if p.Done == p.Total {
			end = "\n"
		}
		fmt.Fprintf(a.env.Err, "\rindexing %s: %d of %d records (%d %%)%s", cli.CleanText(p.Topic, cli.OneLine), p.Done, p.Total, percent, end)
	}
}

// manyRecords is how many new records are worth a word.
const manyRecords = 20000

// looking tells a person why a question takes long.
func (a *app) looking() {
	fmt.Fprintln(a.env.Err, "looking through the dead letters, which takes a while; --since and --group make them fewer")
}

// notOurs words the error of a topic that does not exist: of other software's DLQ, no command of ours makes it.
func (a *app) notOurs(err error) error {
	if a.foreignTopic == "" || !errors.Is(err, kafka.ErrNoTopic) || !strings.Contains(err.Error(), a.foreignTopic) {
		return err
	}
	return fmt.Errorf("%w: %s; check --topic%s", kafka.ErrNoTopic, a.foreignTopic, a.similar())
}

// opened notes which DLQ without a pipeline an error can be about.
func (a *app) opened(r *reading, cfg *config.Config) {
	if !a.alone(r) {
		return
	}
	if opts, err := kafka.ClientOptions(cfg.Kafka); err == nil {
		a.looked, a.cluster = r, slices.Concat(opts, a.env.KafkaOpts)
	}
}

// similar names topics of the cluster that can have been meant, as far as they are told within a second.
func (a *app) similar() string {
	if a.looked == nil {
		return ""
	}
	client, err := kgo.NewClient(a.cluster...)
	if err != nil {
		return ""
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	topics, err := kadm.NewClient(client).ListTopics(ctx)
	if err != nil {
		return ""
	}
	var found []string
	for _, name := range topics.Names() {
		word := strings.ToLower(name)
		isDLQ := slices.ContainsFunc([]string{"dlt", "dlq", "dead", "poison", "error"}, func(part string) bool { return strings.Contains(word, part) })
		if isDLQ && !strings.Contains(name, ".replayer-") && len(found) < 5 {
			found = append(found, name)
		}
	}
	if near := config.Nearest(a.foreignTopic, topics.Names()); near != "" && !slices.Contains(found, near) {
		found = append([]string{near}, found...)
	}
	if len(found) == 0 {
		return ""
	}
	return ". The cluster has " + strings.Join(found, ", ")
}
