package world

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/engine"

	"github.com/switchback-geo/switchback/integration/simulation/judge"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// RestartAfter is how long a supervisor waits before it restarts a process that ended on its own.
const RestartAfter = 5 * time.Second

// Instance runs an engine in a process, with a supervisor that restarts the process when it ends on its own. Its
// methods are safe for concurrent use.
type Instance struct {
	w    *World
	Name string
	logs io.Writer

	ahead atomic.Int64 // of the clock, in nanoseconds

	mu      sync.Mutex
	process *process // nil if none runs
	stops   int      // number of stops and kills; the supervisor does not restart a process that was stopped on purpose
	change  Change
	peak    judge.Held
	busiest int64
}

// Change is a change of configuration by a deployment.
type Change struct {
	Concurrency int
	Static      *bool
	Order       retrytopics.Order
	Tiers       []time.Duration
}

// process is one run of an engine.
type process struct {
	in     *Instance
	host   *Host
	engine *engine.Engine
	held   *held
	stop   context.CancelFunc // like SIGTERM
	done   chan struct{}      // closed when it has ended
	dead   chan struct{}      // closed when it was killed
}

// configured returns the changes of all deployments.
func (in *Instance) configured() Change {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.change
}

func newInstance(w *World, name string, logs io.Writer) *Instance {
	return &Instance{w: w, Name: name, logs: logs, peak: judge.Held{Instance: name}}
}

// Start starts a process unless one runs.
func (in *Instance) Start() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.process == nil && in.w.ctx.Err() == nil {
		in.process = in.launch()
	}
}

// launch starts a process. The mutex is held.
func (in *Instance) launch() *process {
	p := &process{in: in, host: in.w.Kafka.host(), held: newHeld(in.w.finished), done: make(chan struct{}), dead: make(chan struct{})}
	e, err := engine.New(in.config(p))
	if err != nil {
		panic(err) // the engine refuses the plan's configuration
	}
	p.engine = e
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	in.w.Go(func(context.Context) { p.run(ctx) })
	in.w.Go(p.count)
	return p
}

// run runs the engine, and starts another process when the engine ends on its own.
func (p *process) run(ctx context.Context) {
	err := p.engine.Run(ctx)
	close(p.done)
	in := p.in
	in.settle(p)
	if p.killed() || ctx.Err() != nil && err == nil {
		return
	}
	in.w.gave(in, err)
	in.mu.Lock()
	own, stops := in.process == p, in.stops
	if own {
		in.process = nil
	}
	in.mu.Unlock()
	if own && ctx.Err() == nil && in.w.Wait(RestartAfter) && in.stopped() == stops {
		in.Start()
	}
}

func (in *Instance) stopped() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.stops
}

// count follows the requests that the process sends, and the partitions that it owns.
func (p *process) count(ctx context.Context) {
	for wait(ctx, judge.BusyWindow/2) {
		select {
		case <-p.done:
			return
		default:
		}
		sent := p.host.asks()
		busy := 2 * sent.total() // of half a window, doubled
		p.in.mu.Lock()
		p.in.busiest = max(p.in.busiest, busy)
		p.in.mu.Unlock()
		if busy > judge.MostBusy(p.in.w.Plan) {
			p.in.w.Tell("%s sent within %s: %s", p.in.Name, judge.BusyWindow/2, sent)
		}
		p.held.keep(p.in.w.Kafka.owned(p.in.Name))
	}
}

// settle keeps the records of a process that has ended.
func (in *Instance) settle(p *process) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.peak.Most = max(in.peak.Most, p.held.largest())
}

func (p *process) killed() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// Stop ends the process like SIGTERM, and returns when it has ended.
func (in *Instance) Stop() {
	if p := in.take(); p != nil {
		p.stop()
		<-p.done
	}
}

// Kill ends the process like SIGKILL: no message that it sends arrives any more. It returns false if none runs.
func (in *Instance) Kill() bool {
	p := in.take()
	if p == nil {
		return false
	}
	close(p.dead)
	p.host.Cut()
	p.host.Thaw()
	p.stop()
	return true
}

func (in *Instance) take() *process {
	in.mu.Lock()
	defer in.mu.Unlock()
	p := in.process
	in.process = nil
	in.stops++
	return p
}

// Host returns the connection of the process to the network, or an unused one if no process runs.
func (in *Instance) Host() *Host { return in.host() }

func (in *Instance) host() *Host {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.process == nil {
		return in.w.Kafka.host()
	}
	return in.process.host
}

// Engine returns the engine of the running process, or nil.
func (in *Instance) Engine() *engine.Engine {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.process == nil {
		return nil
	}
	return in.process.engine
}

// Redeploy changes the configuration of later processes.
func (in *Instance) Redeploy(c Change) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.change = c
}

// Running reports whether a process runs.
func (in *Instance) Running() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.process != nil
}

// seen returns the most records and requests of all processes of the instance.
func (in *Instance) seen() (peak judge.Held, busiest int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.peak, in.busiest
}

func (in *Instance) logger() *slog.Logger {
	if in.logs == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(in.logs, nil)).With("instance", in.Name)
}

// gave records that an engine ended with an error.
func (w *World) gave(in *Instance, err error) {
	w.Tell("%s gave up: %v", in.Name, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gaveUp = append(w.gaveUp, fmt.Sprintf("%s: %v", in.Name, err))
}

// skew returns how far the instance's clock is ahead of the world's.
func (in *Instance) skew() time.Duration { return time.Duration(in.ahead.Load()) }

// SetClock sets the instance's clock ahead of the world's, or behind it.
func (in *Instance) SetClock(ahead time.Duration) { in.ahead.Store(int64(ahead)) }
