package world

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/simulation/judge"
	"github.com/switchback-geo/switchback/integration/simulation/plan"
	"github.com/switchback-geo/switchback/integration/simulation/story"
)

// Names of the pipeline.
const (
	Source  = "events"
	Output  = Source + ".out"
	Journal = Source + ".journal"
	DLQ     = Source + ".dlq"
	Losses  = Source + ".losses" // what the engines say of gaps
	Trail   = Source + ".trail"
	Heads   = Source + ".heads"
	Group   = "pipeline"
)

// World is one world while it is played.
type World struct {
	Plan  plan.Plan
	Story *story.Story
	Kafka *Kafka
	Table *Table

	finished *finished

	logs      io.Writer
	ctx       context.Context // ends with the world
	end       context.CancelFunc
	begin     time.Time
	events    []plan.Event
	instances []*Instance
	operator  *operator
	writes    chan struct{} // has room for the one that writes to the source, or deletes there
	fed       chan struct{} // closed when all events are sent
	tasks     sync.WaitGroup

	mu      sync.Mutex
	calls   []judge.Call
	gaveUp  []string
	down    map[string]int // dependencies that are down, and how often
	pruned  []*kgo.Record  // of the source: what retention deleted
	deleted []*kgo.Record  // of the source: what was there when an operator deleted the topic
	epoch   int64          // how often the source was re-created
}

// Options are what a player of worlds may want.
type Options struct {
	Dir  string    // a folder of its own, for a cluster that is restarted
	Logs io.Writer // of the engines; nil: none
}

// New makes the cluster, the topics, the instances and the load of a plan, and starts all of it. It must be called in a
// bubble of testing/synctest; so must everything else here.
func New(p plan.Plan, o Options) (*World, error) {
	w := &World{
		Plan: p, logs: o.Logs, begin: time.Now(), Story: story.New(o.Logs), Table: newTable(), finished: newFinished(), fed: make(chan struct{}), writes: make(chan struct{}, 1), down: map[string]int{},
	}
	w.ctx, w.end = context.WithCancel(context.Background())
	for n := range p.Load.Records {
		w.events = append(w.events, p.Event(n))
	}
	var err error
	if w.Kafka, err = newKafka(p.Cluster, o.Dir); err != nil {
		return nil, fmt.Errorf("start the cluster: %w", err)
	}
	if err := w.CreateTopics(p.Engine.Tiers); err != nil {
		return nil, err
	}
	for range p.Engine.Instances {
		w.Add().Start()
	}
	if w.operator, err = newOperator(w); err != nil {
		return nil, err
	}
	w.Go(w.feed)
	return w, nil
}

// Go runs a part of the world until the world ends. The context ends with the world.
func (w *World) Go(part func(context.Context)) {
	w.tasks.Go(func() { part(w.ctx) })
}

// Now is how long the world has been played.
func (w *World) Now() time.Duration { return time.Since(w.begin) }

// Until waits for a moment of the world. It is false when the world ends before.
func (w *World) Until(at time.Duration) bool { return w.Wait(at - w.Now()) }

// Wait lets time pass. It is false when the world ends before.
func (w *World) Wait(d time.Duration) bool { return wait(w.ctx, d) }

func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Tell notes a line of the story.
func (w *World) Tell(format string, args ...any) { w.Story.Tell(format, args...) }

// Epoch is how often the source was re-created.
func (w *World) Epoch() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.epoch
}

// Instance is one of the places where an engine runs. A number that is too great is taken modulo their number.
func (w *World) Instance(number int) *Instance {
	all := w.Instances()
	return all[number%len(all)]
}

// Instances are all of them.
func (w *World) Instances() []*Instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.instances)
}

// Add gives a place for one more.
func (w *World) Add() *Instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	in := newInstance(w, fmt.Sprint("i", len(w.instances)), w.logs)
	w.instances = append(w.instances, in)
	return in
}

// lingers is how long a client may need to close that its engine has left behind, see there.
const lingers = 2 * time.Minute

// Close ends everything. Engines that still run are stopped. A goroutine that is left after it makes the bubble panic: a leak.
func (w *World) Close() {
	w.StopAll()
	w.operator.close()
	w.end()
	w.tasks.Wait()
	wait(context.Background(), lingers)
	w.Kafka.Close()
	wait(context.Background(), lingers)
}
