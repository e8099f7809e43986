package replay

import (
	"cmp"
	"context"
	"fmt"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/dryrun"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/replay/target"
	"github.com/switchback-geo/switchback/internal/replay/transaction"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// decision is what an operation does with one dead letter.
type decision struct {
	staged
	already   bool   // this operation did it before
	overtaken bool   // it is changed, and was superseded before
	why       string // why it is left; "" if it is changed
}

// decide decides about one dead letter of the plan, by the states that were read after all other replayers were
// fenced.
func (r *replaying) decide(ctx context.Context, st *states.Table, of *candidate) (_ decision, err error) {
	p, l := of.plan, of.letter
	if l == nil {
		at := p.DLQ(r.plan.DLQ)
		return leave("its record " + at.String() + " is gone: retention deleted it"), nil
	}
	if l.ID != p.ID || l.ContentHash != p.ContentHash {
		return leave("another dead letter is at " + l.DLQ.String() + " now: make a new plan"), nil
	}
	st.ApplyReported(l)
	prev, why := st.Of(l.ID)
	if why != "" {
		return leave(why), nil
	}
	if why, already := r.changed(p, prev); already || why != "" {
		return decision{why: why, already: already}, nil
	}
	if p.Do == plan.Leave {
		return leave(p.Why), nil
	}
	topic, why := r.service.target(ctx, l, r.to, st)
	switch {
	case why != "":
		return leave(why), nil
	case topic.Name != p.Target:
		return leave(fmt.Sprintf("it would go to %s, but the plan says %s: make a new plan", topic.Name, p.Target)), nil
	}
	if r.plan.To == "" && !r.options.IncludingFailing && p.Do != plan.Duplicate && !p.Today.Passes {
		return leave(fmt.Sprintf("today's transform would refuse it: %s; --including-failing puts it back anyway", p.Today.Code)), nil
	}
	l.State, l.Status = prev, prev.Status
	d := decision{staged: staged{Change: transaction.Change{Letter: l, Prev: prev.Naming(l)}}}
	if other, ok := st.SameContent(l); ok {
		return d, r.closeAs(&d.staged, other)
	}
	if p.Do == plan.Duplicate {
		return leave("dead letter " + p.DuplicateOf + ", which has the same content, was not put back: make a new plan"), nil
	}
	if of.lost != "" {
		return leave(of.lost), nil
	}
	value := l.Content.Value
	if r.service.alone {
		if r.rewrite != nil {
			if value, why, err = r.rewrittenAsPlanned(ctx, p, l); err != nil || why != "" {
				return leave(why), err
			}
		}
		if why, err = r.newerThanPlanned(ctx, p, l, &topic); err != nil || why != "" {
			return leave(why), err
		}
	}
	return d, r.send(&d.staged, &topic, value, p)
}

// change returns the change of state that the replay makes.
func (r *replaying) change(to deadletters.Status, reason string) deadletters.Change {
	op := r.op
	return deadletters.Change{To: to, Reason: reason, By: op.By, ReplayID: op.ID, Operation: op.ID, At: r.service.now()}
}

// closeAs stages that a dead letter is closed, because another one with the same content stands for it.
func (r *replaying) closeAs(d *staged, other string) error {
	op := r.op
	next, err := deadletters.Next(d.Prev, r.change(deadletters.Duplicate, header.Clip("same content as "+other+"; "+op.Reason, operation.MaxReason)))
	if err != nil {
		return err
	}
	d.Next = next
	d.SetEvent(&op, audit.StateChanged)
	return nil
}

// send stages that a dead letter goes back. to is the topic for a DLQ without a pipeline. A dead letter that leaves
// the pipeline is closed at once, because nobody reports its outcome, except that one of other software can die
// again.
func (r *replaying) send(d *staged, to *target.Topic, value []byte, p *plan.Line) (err error) {
	s, op, l := r.service, r.op, d.Letter
	change := r.change(deadletters.Replaying, op.Reason)
	if topic := cmp.Or(to.Name, r.plan.To); topic != "" {
		change = r.change(deadletters.Discarded, header.Clip("put back into "+topic+": "+op.Reason, operation.MaxReason))
		change.Destination = topic
	}
	if d.Next, err = deadletters.Next(d.Prev, change); err != nil {
		return err
	}
	replays := l.Replays() + 1
	if s.alone {
		d.Next.ReprocessCount = replays
		d.Record = r.to.Origins.PutBack(s.dryRun.Headers, to, &r.plan.Head, l, value)
	} else {
		d.Record = r.to.Reinjected(s.dryRun.Headers, op.ID, l, p.Force)
		if err := s.sign(d.Record); err != nil {
			return err
		}
	}
	d.Sends = true
	d.SetEvent(&op, audit.Replayed)
	d.Event.Destination = d.Record.Topic
	d.Event.Message += fmt.Sprintf(", replay %d of this dead letter", replays)
	if change.Destination != "" {
		d.Event.Message += ", into " + change.Destination
	}
	if p.Force {
		d.Event.Force = op.Force
		d.Event.Message += ", forced: it may overwrite newer data"
	}
	if p.Becomes != "" && p.Shape != dryrun.Unchanged {
		d.Event.After = p.Becomes
		d.Event.Message += ", rewritten: " + p.Shape
	}
	return nil
}

// changed returns why a dead letter is no longer as the plan describes it, or that this replay has already handled
// it.
func (r *replaying) changed(p *plan.Line, now deadletters.State) (why string, already bool) {
	if millis(now.At) == p.StateAt && now.ReprocessCount == p.ReprocessCount {
		return "", false
	}
	own, pending := now.ReplayID == r.plan.ID, now.Status == deadletters.Pending
	retry, failed := r.failed[states.KeyOf(p.ID)]
	switch {
	case own && now.Status == deadletters.Escalated:
		return "it failed too often in this replay and is escalated", false
	case own && !pending:
		return "", true
	case own && deadletters.OfOtherSoftware(p.ID):
		return "it failed again in this replay, in other software; to put it back once more, fix the cause and make a new plan", false
	case own && failed && retry == now.ReprocessCount:
		return "", false // an earlier call sent it, and it failed: this call tries again
	case own && now.Writer == deadletters.Consumer:
		return "it failed again in this replay; fix the cause and apply the same plan again", false
	case !own && now.ReprocessCount != p.ReprocessCount && (pending || now.Status == deadletters.Escalated):
		return fmt.Sprintf("it was replayed and failed again since the plan was made (it is %s%s): make a new plan", now.Status, since(now)), false
	case pending:
		return fmt.Sprintf("it changed since the plan was made (it is pending again%s): make a new plan", since(now)), false
	}
	return fmt.Sprintf("it is %s%s", now.Status, since(now)), false
}

func leave(why string) decision { return decision{why: why} }
