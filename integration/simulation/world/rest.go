package world

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/integration/simulation/judge"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

const (
	lookEvery   = 500 * time.Millisecond
	settleFor   = 2 * time.Second // after the end; nothing more may happen in this time
	replayEvery = 10 * time.Second
)

// Rest lets the world come to rest: it ends all faults, starts every instance, and waits until everything is finished
// or the bound is over. It returns how long that took, or the unfinished work.
func (w *World) Rest(bound time.Duration) (took time.Duration, left string) {
	<-w.fed
	for _, in := range w.Instances()[:w.Plan.Engine.Instances] {
		in.Host().Heal()
		in.Host().Thaw()
		in.Start()
	}
	w.Tell("all faults have ended")
	began, replayed := time.Now(), time.Now()
	for time.Since(began) < bound {
		if left = w.unfinished(); left == "" {
			took = time.Since(began)
			w.Wait(settleFor)
			return took, ""
		}
		if w.keysHeld() && time.Since(replayed) > replayEvery {
			replayed = time.Now()
			if n := w.Replay(1000, false); n > 0 {
				w.Tell("operator: replays %d dead letters that block their keys", n)
			}
		}
		w.Wait(lookEvery)
	}
	return -1, left
}

// keysHeld reports whether a dead letter blocks its key.
func (w *World) keysHeld() bool {
	return w.Plan.Engine.Order == retrytopics.OrderStrict && w.Plan.Engine.OnDeadLetter == retrytopics.OnDeadLetterHoldKey
}

// unfinished names the records of the source and the tiers that the group has not committed, or returns "". Records that
// retention deleted must be committed, too: with the commit the engine reports them as lost.
func (w *World) unfinished() string {
	t := w.topics()
	committed := w.Kafka.committed()
	var left []string
	err := w.Kafka.each(append([]string{t.Source}, t.Tiers...), func(l topicPartition, first, end int64) {
		at, known := committed[l.topic][l.partition]
		if !known {
			at = first
		}
		if at < end {
			left = append(left, fmt.Sprintf("%s/%d from %d to %d", l.topic, l.partition, at, end))
		}
	})
	if err != nil {
		return err.Error()
	}
	slices.Sort(left)
	return strings.Join(left, ", ")
}

// Evidence returns the records of the world. All instances must have stopped.
func (w *World) Evidence(rest, bound time.Duration, left string) (judge.Evidence, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readBound)
	defer cancel()
	e := judge.Evidence{
		Plan: w.Plan, Topics: w.topics(), Committed: w.Kafka.committed(), Rows: w.Table.Rows(), Rest: rest, Bound: bound, Left: left,
	}
	t := e.Topics
	var err error
	if e.Logs, err = w.read(ctx, append([]string{t.Source, t.Output, t.Journal, t.Losses, t.DLQ, t.Trail}, t.Tiers...)); err != nil {
		return e, fmt.Errorf("read the topics: %w", err)
	}
	w.place(&e)
	for _, in := range w.Instances() {
		peak, busiest := in.seen()
		peak.Limit = judge.Limit(w.Plan)
		e.Held = append(e.Held, peak)
		e.Busy = max(e.Busy, busiest)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e.Calls, e.GaveUp, e.Pruned, e.Deleted, e.Epoch = w.calls, w.gaveUp, w.pruned, w.deleted, w.epoch
	return e, nil
}

// place moves the records to the places where the judge expects them.
func (w *World) place(e *judge.Evidence) {
	epoch := w.Epoch()
	if epoch == 0 {
		return
	}
	for topic, log := range e.Logs {
		for i, r := range log {
			e.Logs[topic][i] = placed(r, epoch)
		}
	}
	if e.Committed[Source] == nil {
		e.Committed[Source] = map[int32]int64{}
	}
	for p := range w.Plan.Cluster.Partitions { // if nothing of the new topic is committed, all of the former one is
		e.Committed[Source][p] += epoch * judge.Stride
	}
}

// StopAll stops all processes at the same time, like SIGTERM, and returns when they have ended.
func (w *World) StopAll() {
	var all sync.WaitGroup
	for _, in := range w.Instances() {
		all.Go(in.Stop)
	}
	all.Wait()
}
