package world

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/simulation/judge"
)

// AdoptWithin is the time limit for the instances to end and for the new topic to be adopted.
const AdoptWithin = 5 * time.Minute

// Recreate deletes the source, creates it again after a while, and adopts it. Meanwhile no producer writes to the
// source, and no replay is doubtful. It returns when the new topic is adopted.
func (w *World) Recreate(stop bool, after time.Duration) error {
	w.writes <- struct{}{}
	defer func() { <-w.writes }()
	o := w.operator
	o.busy <- struct{}{}
	defer func() { <-o.busy }()
	if err := o.decide(); err != nil {
		return fmt.Errorf("which replays are committed: %w", err)
	}
	if stop {
		w.StopAll()
	}
	ctx, cancel := context.WithTimeout(w.ctx, readBound)
	defer cancel()
	logs, err := w.read(ctx, []string{Source})
	if err != nil {
		return err
	}
	w.dropped(logs[Source])
	w.again("delete the source", func(ctx context.Context, adm *kadm.Client) error {
		_, err := adm.DeleteTopic(ctx, Source)
		if errors.Is(err, kerr.UnknownTopicOrPartition) {
			return nil // the previous answer was lost
		}
		return err
	})
	w.Wait(after)
	w.again("create the source", func(ctx context.Context, adm *kadm.Client) error {
		_, err := adm.CreateTopic(ctx, w.Plan.Cluster.Partitions, 1, nil, Source)
		if errors.Is(err, kerr.TopicAlreadyExists) {
			return nil
		}
		return err
	})
	if err := w.adopt(); err != nil {
		return err
	}
	for w.lostReplays(logs[Source]) != nil && w.Wait(time.Second) {
	}
	return nil
}

func (w *World) lostReplays(source []*kgo.Record) error {
	ctx, cancel := context.WithTimeout(w.ctx, readBound)
	defer cancel()
	return w.operator.lost(ctx, source, w.Epoch()-1)
}

// dropped records the records that are deleted with the source, and begins another epoch.
func (w *World) dropped(log []*kgo.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range log {
		w.deleted = append(w.deleted, placed(r, w.epoch))
	}
	w.epoch++
	w.finished.forget(Source)
}

// adopt adopts the new topic, as `consumer topics adopt` does, and marks the place in the journal.
func (w *World) adopt() error {
	w.StopAll()
	err := w.adoptOnce()
	for until := w.Now() + AdoptWithin; err != nil && w.Now() < until && w.Wait(2*time.Second); {
		w.StopAll()
		err = w.adoptOnce()
	}
	if err != nil {
		return fmt.Errorf("it cannot be adopted: %w", err)
	}
	for w.mark() != nil && w.Wait(time.Second) {
	}
	return nil
}

func (w *World) adoptOnce() error {
	in := newInstance(w, "adopt", nil)
	in.change = w.Instance(0).configured()
	e, err := engine.New(in.config(&process{in: in, host: w.Kafka.host(), held: newHeld(w.finished)}))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(w.ctx, readBound)
	defer cancel()
	_, err = e.Adopt(ctx)
	return err
}

// mark marks in the journal and among the losses that the following records belong to the new topic.
func (w *World) mark() error {
	client, err := w.Kafka.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(w.ctx, readBound)
	defer cancel()
	var marks []*kgo.Record
	for p := range w.Plan.Cluster.Partitions {
		for _, topic := range []string{Journal, Losses} {
			marks = append(marks, &kgo.Record{Topic: topic, Partition: p, Value: []byte("{}"), Headers: []kgo.RecordHeader{{Key: judge.HeaderAdopted}}})
		}
	}
	return client.ProduceSync(ctx, marks...).FirstErr()
}

// again repeats an action until it succeeds or the world ends.
func (w *World) again(what string, do func(context.Context, *kadm.Client) error) {
	for {
		err := w.withAdmin(do)
		if err == nil {
			return
		}
		w.Tell("%s: %v", what, err)
		if !w.Wait(time.Second) {
			return
		}
	}
}

func (w *World) withAdmin(do func(context.Context, *kadm.Client) error) error {
	client, err := w.Kafka.client()
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
	defer cancel()
	return do(ctx, kadm.NewClient(client))
}
