package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/rewrite"
	"github.com/switchback-geo/switchback/internal/replay/target"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// PlanOptions says what a plan is for, besides which letters.
type PlanOptions struct {
	ID string // names the plan and its replay in headers, states and audit; made from time and chance when empty
	By string // who makes the plan; "" is the user of the operating system
	To string // topic that letters go to instead of the source
	// Force says why letters may overwrite newer data, in the operator's words; "" holds each to its version.
	Force string
	// Origins are the only topics that letters of a DLQ without a pipeline go back to; nil is whatever their headers name.
	Origins []string
	// Rewrite is what becomes of the values of such letters before they go back.
	Rewrite rewrite.Spec
	// MaxReplays is how often such a letter may be put back; 0 is 3.
	MaxReplays int
	// KeepTimestamp gives such letters the timestamps of the records that died, instead of the time of their replay.
	KeepTimestamp bool
}

// usualReplays is how often a letter of a DLQ without a pipeline may be put back.
const usualReplays = 3

// Plan selects letters, runs today's transform on each and freezes the answer, in memory. Without statuses
// or ids in the filter, it selects pending letters; a letter that is named by its id but cannot be replayed
// is in the plan with the action Leave.
func (s *Service) Plan(ctx context.Context, f deadletters.Filter, o PlanOptions) (*plan.Plan, error) {
	head, going, err := s.prepare(ctx, f, o)
	if err != nil {
		return nil, err
	}
	return plan.Make(head, func(w *plan.Writer) error { return s.fill(ctx, w, head, going) })
}

// SavePlan is [Service.Plan] into a file. A plan of a million letters needs little memory this way.
func (s *Service) SavePlan(ctx context.Context, f deadletters.Filter, o PlanOptions, path string) (*plan.Plan, error) {
	head, going, err := s.prepare(ctx, f, o)
	if err != nil {
		return nil, err
	}
	return plan.Save(path, head, func(w *plan.Writer) error { return s.fill(ctx, w, head, going) })
}

// ScratchPlan is [Service.SavePlan] for a plan that is carried out at once and not kept. Close it.
func (s *Service) ScratchPlan(ctx context.Context, f deadletters.Filter, o PlanOptions) (*plan.Plan, error) {
	head, going, err := s.prepare(ctx, f, o)
	if err != nil {
		return nil, err
	}
	return plan.Scratch(head, func(w *plan.Writer) error { return s.fill(ctx, w, head, going) })
}

// planning is the letters of a plan, and what decides about them.
type planning struct {
	*choice
	to      destination
	marks   []going     // of each place
	twins   map[int]int // of letters that can go back: number of the place -> that of the one that stands for it (see twinsOf)
	ids     idList      // of letters that can go back
	newest  *newest
	newer   *newer // nil of a pipeline
	ages    ages
	rewrite *rewrite.Rewrite // nil leaves values as they are
}

// going is what tells a chosen letter from others.
type going struct {
	source  int64      // offset of the source at which it was first read
	content contentKey // zero unless it can go back
	key     idempotency.KeyHash
	id      uint32 // in the list of ids; of letters that can go back
}

// prepare finds the letters of a plan.
func (s *Service) prepare(ctx context.Context, f deadletters.Filter, o PlanOptions) (plan.Head, *planning, error) {
	if err := f.Check(); err != nil {
		return plan.Head{}, nil, err
	}
	to, err := s.aimed(ctx, o)
	if err != nil {
		return plan.Head{}, nil, err
	}
	if err := checkActor(o.By); err != nil {
		return plan.Head{}, nil, err
	}
	if err := checkReplayID(o.ID); err != nil {
		return plan.Head{}, nil, err
	}
	if err := s.checkForce(o.Force, o.To); err != nil {
		return plan.Head{}, nil, err
	}
	if o.Rewrite, err = s.findSubject(ctx, o.Rewrite); err != nil {
		return plan.Head{}, nil, err
	}
	if o.Rewrite, err = s.findLike(ctx, o.Rewrite); err != nil {
		return plan.Head{}, nil, err
	}
	rewrite, err := s.rewriteOf(o.Rewrite)
	if err != nil {
		return plan.Head{}, nil, err
	}
	passedOver := len(f.Statuses) == 0 && len(f.IDs) == 0
	if passedOver {
		f.Statuses = []deadletters.Status{deadletters.Pending}
	}
	p, err := s.planning(ctx, f, to)
	if err != nil {
		return plan.Head{}, nil, err
	}
	p.rewrite = rewrite
	overtaken := 0
	if passedOver {
		if overtaken, err = p.overtaken(ctx, f); err != nil {
			return plan.Head{}, nil, err
		}
	}
	seen, doubt, err := s.seeNewer(ctx, p, o.Force != "")
	if err != nil {
		return plan.Head{}, nil, err
	}
	mapping, err := s.mapping.Fingerprint()
	if err != nil {
		return plan.Head{}, nil, err
	}
	most := 0
	if s.alone {
		mapping, most = "", to.origins.most
	}
	now := s.now().UTC().Truncate(time.Millisecond)
	return plan.Head{
		Mapping: mapping, MaxReplays: most,
		ID: cmp.Or(o.ID, newReplayID(now)), Pipeline: s.cfg.Pipeline.ID, Source: s.cfg.Source.Topic, To: o.To,
		DLQ: s.cfg.Topics.DLQ, MadeAt: now, By: cmp.Or(o.By, s.by), Filter: f, Seen: seen, Force: o.Force, Doubt: cmp.Or(p.newest.doubt, doubt), KeepTimestamp: o.KeepTimestamp,
		Overtaken: overtaken, Rewrite: o.Rewrite,
	}, p, nil
}

// planning chooses the letters of a plan and tells apart those that can go back.
func (s *Service) planning(ctx context.Context, f deadletters.Filter, to destination) (*planning, error) {
	chosen, err := s.choose(ctx, f)
	if err != nil {
		return nil, err
	}
	p := &planning{choice: chosen, to: to, marks: make([]going, len(chosen.places))}
	err = s.letters(ctx, p.places, func(n int, l *deadletters.Letter) error {
		if l != nil {
			p.standing.hear(l)
			p.mark(n, l, s.goes(ctx, l, to, p.standing))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.twins = twinsOf(p.marks)
	p.newest, err = s.newestFor(ctx, p.keys(), to.elsewhere)
	return p, err
}

func (p *planning) mark(n int, l *deadletters.Letter, goes bool) {
	m := &p.marks[n]
	m.key = l.KeyHash()
	if goes && l.Control.HasSource {
		p.ages.add(l.Control.Source)
	}
	if source := l.Control.Source; goes && l.Control.HasSource {
		m.source, m.content, m.id = source.Offset, newContentKey(l.ContentHash+partOf(l.ID), m.key, source), p.ids.add(l.ID, source.Offset)
	}
}

// overtaken counts the letters that a filter would select if they were not closed as superseded.
func (c *choice) overtaken(ctx context.Context, f deadletters.Filter) (int, error) {
	f.Statuses = []deadletters.Status{deadletters.Superseded}
	return c.index.Count(ctx, dlqindex.Query{Filter: f})
}

// fill reads the chosen records once more, with their values, and writes a line for each.
func (s *Service) fill(ctx context.Context, w *plan.Writer, head plan.Head, p *planning) error {
	if err := s.mapping.Load(ctx); err != nil {
		return err
	}
	return s.letters(ctx, p.places, func(n int, l *deadletters.Letter) (err error) {
		if l == nil {
			return nil // retention took it since it was chosen
		}
		line := s.planned(ctx, l, p.to, p.standing, p.twin(n))
		if line.Do != plan.Leave {
			why, err := deadletters.FetchOriginal(ctx, s.client, l, s.maxValue())
			if err != nil {
				return err
			}
			if why != "" {
				leaveLine(&line, why)
			}
		}
		value := l.Content.Value
		if line.Do == plan.Reinject && p.rewrite != nil {
			if value, err = s.foretell(ctx, p.rewrite, &line, l); err != nil {
				return err
			}
		}
		if line.Do != plan.Leave && s.alone {
			p.judge(ctx, s, &head, &line, l, value, n)
		}
		if line.Do != plan.Leave {
			s.foresee(ctx, head, p.newest, &line, l)
		}
		return w.Add(&line)
	})
}

// foresee says what the consumer would make of a letter.
func (s *Service) foresee(ctx context.Context, head plan.Head, newest *newest, line *plan.Letter, l *deadletters.Letter) {
	if s.alone {
		line.Today.Passes = true // nobody judges it here
		return
	}
	var tried pipeline.Tried
	line.Today, tried = s.judge(ctx, l, l.Content.Value)
	if head.To != "" {
		return
	}
	line.Today.Superseded = line.Today.Passes && newest.than(l, tried)
	if head.Force != "" {
		newest.force(line, l, tried)
	}
}

// maxNamed bounds what a plan says of a letter's cause and feature.
const maxNamed = 512

// planned decides what would be done with a letter. twin is the letter of the plan that stands for it, or "".
func (s *Service) planned(ctx context.Context, l *deadletters.Letter, to destination, st *standing, twin string) plan.Letter {
	p := plan.Letter{
		Partition: l.DLQ.Partition, Offset: l.DLQ.Offset, ID: l.ID, ContentHash: l.ContentHash, Group: l.Group,
		Died: clip(l.Control.ErrorCode, maxNamed), FeatureID: clip(l.Control.FeatureID, maxNamed), Size: l.Size, Do: plan.Reinject,
	}
	state, err := st.of(l.ID)
	if err == nil {
		p.ReprocessCount, p.StateAt, p.Reopened = state.ReprocessCount, millis(state.At), st.marks[keyOf(l.ID)].has(reopened)
	}
	target, why := s.target(ctx, l, to, st)
	p.Target = target.Name
	if why != "" {
		p.Do, p.Why, p.Overtaken = plan.Leave, clip(why, maxMessage), state.Status == deadletters.Superseded
		return p
	}
	if other, ok := st.standsFor(l); ok {
		twin = other
	}
	if twin != "" {
		p.Do, p.DuplicateOf = plan.Duplicate, twin
	}
	return p
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// goes reports whether a letter can go back.
func (s *Service) goes(ctx context.Context, l *deadletters.Letter, to destination, st *standing) bool {
	_, why := s.target(ctx, l, to, st)
	return why == ""
}

// target says why a letter cannot go back (see unfit), and of a DLQ without a pipeline where it goes when it can.
func (s *Service) target(ctx context.Context, l *deadletters.Letter, to destination, st *standing) (t target.Topic, why string) {
	if why := s.unfit(l, to.elsewhere, st); why != "" || !s.alone {
		return t, why
	}
	state, err := st.of(l.ID)
	if err != nil {
		return t, err.Error()
	}
	return to.origins.of(ctx, l, max(l.Control.ReplayCount, state.ReprocessCount))
}

// unfit says why a letter cannot be replayed into the source topic ("") or another one, or "". It asks the given states,
// which may be newer than those that the letter was listed with.
func (s *Service) unfit(l *deadletters.Letter, to string, st *standing) string {
	state, err := st.of(l.ID)
	if err != nil {
		return err.Error()
	}
	if !state.Status.CanBecome(deadletters.Replaying) {
		return fmt.Sprintf("it is %s%s%s", state.Status, since(state), wayBack(state))
	}
	if why := s.unheld(l); why != "" {
		return why
	}
	source, known := l.Source()
	switch {
	case l.Dialect == dialects.ShareGroup && l.Size == 0:
		return "a share group wrote it without the record's value (its group does not copy records): put back, it would delete the feature"
	case s.alone:
		return ""
	case !known:
		return "its first position is not known (no readable header " + header.KeySource +
			"): put back, it would count as new and could overwrite newer data"
	case source.Topic != s.cfg.Source.Topic:
		return fmt.Sprintf("it comes from topic %s, this pipeline reads %s", source.Topic, s.cfg.Source.Topic)
	case to == "" && l.Keyed() && source.Partition != l.DLQ.Partition:
		return fmt.Sprintf("it comes from partition %d of %s and lies in partition %d of the DLQ: put back there, nothing would hold it to the events of its key, and it could "+
			"overwrite newer data; --to sends it to another topic", source.Partition, source.Topic, l.DLQ.Partition)
	}
	return ""
}

// unheld says why the value of a letter cannot be put back, wherever it lies, or "".
func (s *Service) unheld(l *deadletters.Letter) string {
	const way = ": raise source.max_record_bytes and make a new plan, or write the value out with replayer show %s --out FILE"
	switch p := l.Pointer; {
	case l.TooLarge != "":
		return l.TooLarge
	case p == nil:
		return ""
	case p.Topic != s.cfg.Source.Topic && !s.alone:
		return fmt.Sprintf("its record is a pointer into topic %s, this pipeline reads %s", p.Topic, s.cfg.Source.Topic)
	case !p.Read():
		return fmt.Sprintf("its value is not known: it lies at %s in a batch that could not be decompressed", p.Position)
	case p.Bytes > int64(s.maxValue()):
		return fmt.Sprintf("its value has %d bytes and the pipeline takes %d"+way, p.Bytes, s.maxValue(), l.ID)
	}
	return ""
}

// wayBack says what an operator does about a letter that is closed, but not by a replay with effect.
func wayBack(state deadletters.State) string {
	switch {
	case state.Destination != "":
		return "; it was put back into " + state.Destination + " already: after replayer reopen --including-put-back, a replay sends it a second time"
	case state.Status == deadletters.Superseded:
		return "; newer data took effect: to let this dead letter win, replayer reopen it, then plan it with --force-version"
	case slices.Contains(Reopen.From(), state.Status):
		return "; replayer reopen makes it pending again"
	}
	return ""
}

func since(state deadletters.State) string {
	if state.At.IsZero() {
		return ""
	}
	return fmt.Sprintf(" since %s (by %s)", state.At.Format(time.RFC3339), state.By)
}
