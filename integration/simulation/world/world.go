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
	Losses  = Source + ".losses" // reports of the engines about gaps
	Trail   = Source + ".trail"
	Heads   = Source + ".heads"
	Group   = "pipeline"
)

// World is one running world.
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
	writes    chan struct{} // has room for one writer or deleter of the source
	fed       chan struct{} // closed when all events are sent
	tasks     sync.WaitGroup

	mu      sync.Mutex
	calls   []judge.Call
	gaveUp  []string
	down    map[string]int // number of faults of each dependency that is down
	pruned  []*kgo.Record  // source records that retention deleted
	deleted []*kgo.Record  // source records that were there when an operator deleted the topic
	epoch   int64          // number of re-creations of the source
}

// Options configure a world.
type Options struct {
	Dir  string    // an empty folder, for a cluster that is restarted
	Logs io.Writer // of the engines; nil for none
}

// New creates the cluster, the topics, the instances and the load of a plan, and starts them. It must be called in a
// bubble of testing/synctest, like all functions here.
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

// Go runs part until the world ends. The context ends with the world.
func (w *World) Go(part func(context.Context)) {
	w.tasks.Go(func() { part(w.ctx) })
}

// Now returns the time since the world began.
func (w *World) Now() time.Duration { return time.Since(w.begin) }

// Until waits for a moment of the world. It returns false if the world ends before.
func (w *World) Until(at time.Duration) bool { return w.Wait(at - w.Now()) }

// Wait waits for a duration. It returns false if the world ends before.
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

// Tell adds a line to the story.
func (w *World) Tell(format string, args ...any) { w.Story.Tell(format, args...) }

// Epoch returns how often the source was re-created.
func (w *World) Epoch() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.epoch
}

// Instance returns one of the instances. A number that is too large is taken modulo their number.
func (w *World) Instance(number int) *Instance {
	all := w.Instances()
	return all[number%len(all)]
}

// Instances returns all instances.
func (w *World) Instances() []*Instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.instances)
}

// Add adds an instance.
func (w *World) Add() *Instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	in := newInstance(w, fmt.Sprint("i", len(w.instances)), w.logs)
	w.instances = append(w.instances, in)
	return in
}

// lingers is the time that a client may need to close after its engine has left it (see there).
const lingers = 2 * time.Minute

// Close ends the world and stops running engines. A leaked goroutine makes the bubble panic.
func (w *World) Close() {
	w.StopAll()
	w.operator.close()
	w.end()
	w.tasks.Wait()
	wait(context.Background(), lingers)
	w.Kafka.Close()
	wait(context.Background(), lingers)
}
