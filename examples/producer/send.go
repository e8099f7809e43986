package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// reachTimeout is how long brokers may take to answer at all.
const reachTimeout = 10 * time.Second

// outcome collects what became of the records. Its methods are called from the client's goroutines.
type outcome struct {
	mu   sync.Mutex
	sent int
	err  error // the first one
}

func (o *outcome) add(r *kgo.Record, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil:
		o.sent++
	case o.err == nil:
		o.err = explain(r, err)
	}
}

func (o *outcome) result() (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent, o.err
}

func explain(r *kgo.Record, err error) error {
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return fmt.Errorf("the topic %s does not exist: create it with consumer topics ensure", r.Topic)
	}
	return fmt.Errorf("publish the feature %s: %w", r.Key, err)
}

// send produces the events in order, at most so many of them, and stops at the first that cannot be read, written or stored. What was
// read before that is still stored.
func send(ctx context.Context, client *kgo.Client, most int, write write, events iter.Seq2[Event, error]) (int, error) {
	var stored outcome
	taken := 0
	var readErr error
	for e, err := range events {
		if err != nil {
			readErr = err
			break
		}
		if _, failed := stored.result(); failed != nil || ctx.Err() != nil {
			break
		}
		record, err := write(e)
		if err != nil {
			readErr = err
			break
		}
		client.Produce(ctx, record, stored.add)
		if taken++; taken == most {
			break
		}
	}
	if err := client.Flush(ctx); err != nil {
		readErr = errors.Join(readErr, fmt.Errorf("wait for the brokers: %w", err))
	}
	sent, err := stored.result()
	return sent, errors.Join(readErr, err)
}
