package console

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// Changes allows the pages to change dead letters.
type Changes struct {
	// GoOn returns the command that continues an unfinished operation, given its verb, what it selects and, for a
	// replay, its ID. nil names no command.
	GoOn func(by, verb string, f deadletters.Filter, replayID, reason string) func(letters int) string
}

const (
	// keptDrafts is how many of the latest dry runs are kept.
	keptDrafts = 8
	// keptActs is how many operations of this process are remembered, for the error of one that did not begin.
	keptActs = 100
	// leasePatience is how long an operation waits for another operator's operation to end.
	leasePatience = 10 * time.Minute
	// atOnce is how long a request waits for its result, so that a small dry run is shown immediately.
	atOnce = 1500 * time.Millisecond
)

// workbench runs the work that pages start: dry runs, and operations in this process. The control topic keeps
// operations across restarts. It is safe for concurrent use.
type workbench struct {
	Changes
	service *replay.Service
	base    context.Context // of the background work
	work    sync.WaitGroup

	mu     sync.Mutex
	drafts []*draft // oldest first
	acts   map[string]*task
}

func newWorkbench(ctx context.Context, s *replay.Service, o Changes) *workbench {
	return &workbench{Changes: o, service: s, base: ctx, acts: map[string]*task{}}
}

// close waits for the background work after its context has ended, and closes the plans.
func (w *workbench) close() {
	w.work.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.drafts {
		d.close()
	}
}

// task runs in the background.
type task struct {
	done chan struct{} // closed at its end
	err  error         // valid after done is closed
}

func (t *task) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// draft is a dry run. A replay executes its plan unchanged.
type draft struct {
	task
	id     string
	filter deadletters.Filter

	plan     *plan.Plan // nil after an error, as are the fields below
	mappings []string   // the mappings of running instances that differ from the plan's
	differs  bool
	used     bool // a replay reads it; guarded by the workbench's mutex
}

func (d *draft) close() {
	if d.plan != nil {
		_ = d.plan.Close() // a temporary file
	}
}

// dryRun starts a dry run for an operator. replayID is the ID of a stopped replay that continues, otherwise "".
func (w *workbench) dryRun(f deadletters.Filter, replayID, by string) (*draft, error) {
	d := &draft{id: cmp.Or(replayID, w.service.NewOperation("replay")), filter: f, task: task{done: make(chan struct{})}}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.drafts) >= keptDrafts {
		old := slices.IndexFunc(w.drafts, func(d *draft) bool { return d.ended() && !d.used })
		if old < 0 {
			return nil, &fault{exit: cli.ExitRefused, text: "too many dry runs and replays are running on this server; wait until one ends"}
		}
		w.drafts[old].close()
		w.drafts = slices.Delete(w.drafts, old, old+1)
	}
	w.drafts = append(w.drafts, d)
	w.work.Go(func() {
		defer close(d.done)
		d.plan, d.err = w.service.Plan(w.base, f, replay.PlanOptions{ID: d.id, By: by})
		if d.err != nil || d.plan.Alone() {
			return
		}
		d.mappings, d.differs = w.mappings(d.plan)
	})
	return d, nil
}

// mappings returns which running instances have another mapping than a plan, or why that is unknown.
func (w *workbench) mappings(p *plan.Plan) (lines []string, differs bool) {
	c, err := w.service.Mappings(w.base, p)
	if err != nil {
		return []string{"it is unknown which mapping the running instances have: " + err.Error()}, false
	}
	if c.Differs() {
		return c.Lines("this dry run"), true
	}
	return nil, false
}

// draft returns the latest dry run with an id.
func (w *workbench) draft(id string) (*draft, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range slices.Backward(w.drafts) {
		if d.id == id {
			return d, nil
		}
	}
	return nil, &fault{exit: cli.ExitNothing, text: "the dry run " + id + " is no longer kept: the server was restarted, or newer dry runs replaced it; choose the dead letters again"}
}

// start runs an operation in the background. Only one operation with an ID runs at a time.
func (w *workbench) start(id string, do func(context.Context) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := w.acts[id]; a != nil && !a.ended() {
		return &fault{exit: cli.ExitRefused, text: id + " is already running"}
	}
	if w.base.Err() != nil {
		return &fault{exit: cli.ExitRefused, text: "the server is shutting down; nothing was changed"}
	}
	if len(w.acts) >= keptActs {
		maps.DeleteFunc(w.acts, func(_ string, a *task) bool { return a.ended() }) // the topics record the changes
	}
	a := &task{done: make(chan struct{})}
	w.acts[id] = a
	w.work.Go(func() {
		defer close(a.done)
		a.err = do(w.base)
	})
	return nil
}

// act returns an operation of this process, or nil if there is none with the ID.
func (w *workbench) act(id string) *task {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acts[id]
}

// consent is what a form contains besides the change itself.
type consent struct {
	by             string // the actor, for states and audit
	reason, typed  string
	expect, canary int
	create         bool // create the topics that a DLQ without a pipeline needs for its changes
	mappingDiffers bool
	targets        bool // send to the topics that the headers of dead letters name
	putBack        bool // also reopen dead letters that were already put back
}

// check refuses a change without consent: to other dead letters than were shown, or without the number that must be
// typed.
func (c consent) check(letters int, typed bool) error {
	switch {
	case strings.TrimSpace(c.reason) == "":
		return usage("a change needs a reason, such as: mapping of AREA fixed")
	case letters != c.expect:
		return &fault{exit: cli.ExitRefused, text: fmt.Sprintf("refused: the page showed %s, and now it is %s; nothing was changed. Choose again", letterCount(c.expect), letterCount(letters))}
	case typed && strings.ReplaceAll(strings.TrimSpace(c.typed), ",", "") != fmt.Sprint(letters):
		return &fault{exit: cli.ExitRefused, text: fmt.Sprintf("refused: type %d to change %s; nothing was changed", letters, letterCount(letters))}
	}
	return nil
}

func letterCount(n int) string {
	if n == 1 {
		return "1 dead letter"
	}
	return thousands(n) + " dead letters"
}

// replay executes a dry run.
func (w *workbench) replay(ctx context.Context, d *draft, c consent) error {
	if !d.ended() || d.err != nil {
		return usage("the dry run %s did not complete; look at it first", d.id)
	}
	if err := c.check(d.plan.Changes(false), true); err != nil { // sent records cannot be undone
		return err
	}
	if lines, differs := w.mappings(d.plan); differs && !d.plan.Alone() && !c.mappingDiffers {
		return &fault{exit: cli.ExitRefused, text: "refused: nothing was put back, because running instances have another mapping than this dry run: " + strings.Join(lines, "; ")}
	}
	if d.plan.Alone() && !c.targets {
		return &fault{exit: cli.ExitRefused, text: "refused: the target topics come from headers of the dead letters and are not confirmed; nothing was put back. Confirm the topics in the form"}
	}
	if err := w.topics(ctx, c); err != nil {
		return err
	}
	o := replay.ExecuteOptions{Call: w.call("replay", d.plan.Filter, d.id, c), Patience: replay.UsualPatience, Grace: replay.UsualGrace}
	o.Ramp.Canary = c.canary
	if err := o.Ramp.Check(); err != nil {
		return usage("%w", err)
	}
	if a := w.act(d.id); a != nil {
		wait(ctx, a.done) // the control topic records the end of an operation before this process has finished it
	}
	w.mu.Lock()
	d.used = true
	w.mu.Unlock()
	return w.start(d.id, func(ctx context.Context) error {
		defer func() {
			w.mu.Lock()
			d.used = false
			w.mu.Unlock()
		}()
		_, err := w.service.Execute(ctx, d.plan, o)
		return err
	})
}

// numberIsTyped reports whether the number of a reversible change must be typed, as on the command line.
func numberIsTyped(letters int) bool { return letters > replay.ManyLetters }

// confirm compares the number of dead letters that would change with the number shown before.
func (c consent) confirm(letters int) error { return c.check(letters, false) }

func (w *workbench) call(verb string, f deadletters.Filter, id string, c consent) operation.Call {
	call := operation.Call{By: c.by, Reason: c.reason, Lease: operation.LeaseOptions{Wait: leasePatience}}
	if w.GoOn != nil {
		call.ContinueCommand = w.GoOn(c.by, verb, f, id, c.reason)
	}
	return call
}

// topics creates, with consent, the topics that a DLQ without a pipeline needs for its first change.
func (w *workbench) topics(ctx context.Context, c consent) error {
	missing, err := w.service.MissingTopics(ctx)
	if err != nil || len(missing) == 0 {
		return err
	}
	if !c.create {
		return &fault{exit: cli.ExitRefused, text: "refused: the topics that store the changes do not exist; nothing was changed. Confirm in the form that they are created"}
	}
	return w.service.CreateTopics(ctx, missing)
}
