package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// bench is one run of a measurement.
type bench struct {
	plan
	out    io.Writer
	client *kgo.Client
	adm    *kadm.Client
	name   string // prefix of every topic and group
	runs   int    // number of runs so far
}

func newBench(p plan, out io.Writer) (*bench, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(p.brokers...), kgo.ProducerLinger(5*time.Millisecond), kgo.MaxBufferedRecords(20_000))
	if err != nil {
		return nil, err
	}
	name := "bench-engine-" + strconv.FormatInt(time.Now().UnixMilli(), 36)
	return &bench{plan: p, out: out, client: client, adm: kadm.NewClient(client), name: name}, nil
}

// cleanTimeout limits the deletion of topics at the end, which also happens after an interrupted run.
const cleanTimeout = 30 * time.Second

func (b *bench) close() {
	ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
	defer cancel()
	if err := b.remove(ctx, b.name); err != nil {
		fmt.Fprintln(b.out, "topics are left over:", err)
	}
	b.client.Close()
}

// remove deletes the topics and groups whose names begin with prefix.
func (b *bench) remove(ctx context.Context, prefix string) error {
	topics, err := b.adm.ListTopics(ctx)
	if err != nil {
		return err
	}
	var names, groups []string
	for _, t := range topics.Names() {
		if strings.HasPrefix(t, prefix) {
			names = append(names, t)
		}
	}
	listed, err := b.adm.ListGroups(ctx)
	if err != nil {
		return err
	}
	for _, g := range listed.Groups() {
		if strings.HasPrefix(g, prefix) {
			groups = append(groups, g)
		}
	}
	if len(groups) > 0 {
		if _, err := b.adm.DeleteGroups(ctx, groups...); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return nil
	}
	_, err = b.adm.DeleteTopics(ctx, names...)
	return err
}

// topic creates a topic.
func (b *bench) topic(ctx context.Context, name string) error {
	if _, err := b.adm.CreateTopic(ctx, int32(b.partitions), 1, nil, name); err != nil {
		return fmt.Errorf("create topic %s: %w", name, err)
	}
	return b.visible(ctx, name)
}

// load creates a topic and fills it.
func (b *bench) load(ctx context.Context) (string, error) {
	source := b.name + ".source"
	if err := b.topic(ctx, source); err != nil {
		return "", err
	}
	return source, b.produce(ctx, source, b.events, 0)
}

// prepare names a run and creates its topics, including the source topic if the run has none yet.
func (b *bench) prepare(ctx context.Context, s *spec) error {
	b.runs++
	s.Run = fmt.Sprintf("%s.run-%d", b.name, b.runs)
	s.Brokers = b.brokers
	if s.Source == "" {
		s.Source = s.Run + ".source"
		if err := b.topic(ctx, s.Source); err != nil {
			return err
		}
	}
	if err := b.topic(ctx, s.output()); err != nil {
		return err
	}
	switch s.Kind {
	case bare:
		return nil
	case dressed:
		return b.topic(ctx, s.ledger())
	case library:
	}
	e, err := engine.New(engineConfig(s))
	if err != nil {
		return err
	}
	if err := e.CreateTopics(ctx); err != nil {
		return err
	}
	cfg := engineConfig(s)
	names := []string{cfg.DLQ, cfg.Ordering.StateTopic, cfg.Dedupe.LedgerTopic}
	for _, t := range cfg.Retries.Tiers {
		names = append(names, t.Topic)
	}
	return b.visible(ctx, names...)
}

// visible waits until the broker's metadata shows the topics. The broker acknowledges the creation slightly earlier.
func (b *bench) visible(ctx context.Context, names ...string) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		listed, err := b.adm.ListTopics(ctx, names...)
		if err != nil {
			return err
		}
		if listed.Error() == nil && len(listed) == len(names) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// drain lets a contender consume a loaded topic, counts its outputs and deletes the run's topics and groups.
func (b *bench) drain(ctx context.Context, s spec) (*report, error) {
	if err := b.prepare(ctx, &s); err != nil {
		return nil, err
	}
	r, err := b.start(ctx, &s)
	if err != nil {
		return nil, err
	}
	return r, b.settle(ctx, &s)
}

// follow lets a contender consume while a producer sends at a rate.
func (b *bench) follow(ctx context.Context, s spec) (*report, error) {
	s.Paced = true
	if err := b.prepare(ctx, &s); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	produced := make(chan error, 1)
	go func() {
		if s.Burst > 0 {
			produced <- b.trickle(ctx, s.Source, s.Events, s.Burst)
			return
		}
		produced <- b.produce(ctx, s.Source, s.Events, b.rate)
	}()
	r, err := b.start(ctx, &s)
	if err != nil {
		return nil, err
	}
	return r, errors.Join(<-produced, b.settle(ctx, &s))
}

func (b *bench) settle(ctx context.Context, s *spec) error {
	if err := b.count(ctx, s); err != nil {
		return err
	}
	return b.remove(ctx, s.Run+".")
}
