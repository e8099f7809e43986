package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay"
)

// options returns the configuration of the named DLQ and the options to open it with.
func (a *app) options() (cfg *config.Config, o replay.Options, err error) {
	if cfg, err = a.dlq(); err != nil {
		return nil, o, err
	}
	a.cfg = cfg
	o = replay.Options{
		Alone: a.alone(), StateDir: a.dlqFlags.stateDir, Logger: a.log(), KafkaOpts: a.env.KafkaOpts, Now: a.env.Now,
		Index: dlqindex.Options{
			Place: a.dlqFlags.index, Rebuild: a.dlqFlags.rebuild, Progress: a.indexProgress(),
			Doubt: func(why string) { fmt.Fprintln(a.env.Err, "warning: "+cli.CleanText(why, cli.OneLine)) },
		},
	}
	o.Dialect, err = a.dlqFlags.ofDialect()
	return cfg, o, err
}

// service opens the service that replays and changes dead letters. Run closes it.
func (a *app) service(ctx context.Context) (*replay.Service, error) {
	cfg, o, err := a.options()
	if err != nil {
		return nil, err
	}
	s, err := replay.New(cfg, o)
	if err != nil {
		return nil, exit(cli.ExitUsage, err)
	}
	a.closing = append(a.closing, s.Close)
	if err := s.Reachable(ctx); err != nil {
		return nil, err
	}
	return s, s.OpenState(ctx)
}

// browse opens the service that answers questions about dead letters. background leaves its index to the caller. Run
// closes it.
func (a *app) browse(ctx context.Context, background bool) (*dlq.Service, error) {
	cfg, o, err := a.options()
	if err != nil {
		return nil, err
	}
	s, err := dlq.Open(ctx, cfg, dlq.Options{Options: o, Topic: a.dlqFlags.named.Topic, Background: background})
	if err == nil {
		a.closing = append(a.closing, s.Close)
	}
	return s, err
}

// indexProgress returns a function that prints the reason for a rebuild of the index. On a terminal it also shows the
// progress of a long fill.
func (a *app) indexProgress() func(dlqindex.Progress) {
	shown, reported := int64(-1), false
	return func(p dlqindex.Progress) {
		if p.RebuildReason != "" && !reported {
			reported = true
			fmt.Fprintf(a.env.Err, "the index of %s is rebuilt: %s\n", cli.CleanText(p.Topic, cli.OneLine), cli.CleanText(p.RebuildReason, cli.OneLine))
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

// manyRecords is the minimum number of new records for which progress is shown.
const manyRecords = 20000

// explainSlowness explains on the standard error why a command takes long.
func (a *app) explainSlowness() {
	fmt.Fprintln(a.env.Err, "looking through the dead letters, which takes a while; --since and --group make them fewer")
}

// explained adds help to an error of Kafka: the denied principal, the command that prints the needed ACLs, the flag or
// key that names the brokers, and similar topics.
func (a *app) explained(err error) error {
	if a.cfg == nil {
		return err
	}
	principal, topic := kafka.Principal(a.cfg.Kafka), a.dlqFlags.named.Topic
	if topic == "" {
		return kafka.NamedDenial(principal, "replayer acls", err)
	}
	if u, ok := errors.AsType[*kafka.UnreachableError](err); ok {
		u.Alone = true
	}
	privileges := ""
	if a.alone() {
		privileges = fmt.Sprintf("replayer acls %s --target TOPIC --principal %s", a.dlqText(), cmp.Or(principal, "User:NAME"))
	}
	if errors.Is(err, kafka.ErrNoTopic) && strings.Contains(err.Error(), topic) { // Switchback never creates this topic
		err = fmt.Errorf("%w: %s; check --topic%s", kafka.ErrNoTopic, topic, a.similar(topic))
	}
	return kafka.NamedDenial(principal, privileges, err)
}

// similar returns the names of existing topics similar to a topic, or "" if the brokers do not list them within a
// second.
func (a *app) similar(topic string) string {
	if !a.alone() {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	found := dlq.SimilarTopics(ctx, a.cfg, topic, a.env.KafkaOpts...)
	if len(found) == 0 {
		return ""
	}
	return ". The cluster has " + strings.Join(found, ", ")
}
