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
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/rewrite"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/replay/target"
	"github.com/switchback-geo/switchback/internal/replay/versions"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// PlanOptions describes a plan, besides its selection of dead letters.
type PlanOptions struct {
	ID string // ID of the plan and its replay in headers, states and audit events; an empty one is generated
	By string // operator who makes the plan; "" is the user of the operating system
	To string // topic that dead letters go to instead of the source topic
	// Force is the operator's reason why dead letters may overwrite newer data; "" keeps the version guard.
	Force string
	// Origins are the only topics that dead letters of a DLQ without a pipeline go back to; nil is any topic in their
	// headers.
	Origins []string
	// Rewrite changes the values of such dead letters before they go back.
	Rewrite rewrite.Spec
	// MaxReplays is how often such a dead letter may be put back; 0 is 3.
	MaxReplays int
	// KeepTimestamp gives the replayed records the timestamps of the records that died, instead of the time of the
	// replay.
	KeepTimestamp bool
}

// Plan selects dead letters, runs today's transform on each, and records the results. If the filter names no statuses
// and no IDs, it selects pending dead letters. A dead letter that is named by its ID and cannot be replayed is in the
// plan with the action Leave. Only this process can execute the plan. The caller must close it.
func (s *Service) Plan(ctx context.Context, f deadletters.Filter, o PlanOptions) (*plan.Plan, error) {
	p, err := s.prepare(ctx, f, o)
	if err != nil {
		return nil, err
	}
	return plan.Scratch(p.head, func(w *plan.Writer) error { return s.fill(ctx, w, p) })
}

// SavePlan is [Service.Plan] into a file, which another process can execute.
func (s *Service) SavePlan(ctx context.Context, f deadletters.Filter, o PlanOptions, path string) (*plan.Plan, error) {
	p, err := s.prepare(ctx, f, o)
	if err != nil {
		return nil, err
	}
	return plan.Save(path, p.head, func(w *plan.Writer) error { return s.fill(ctx, w, p) })
}

// planning contains the chosen dead letters of a plan and the facts that decide about them.
type planning struct {
	*selection
	head       plan.Head
	to         target.Destination
	letters    []planned     // by place
	duplicates map[int]int   // by place of a dead letter that can go back: place of the dead letter with the same content that goes back instead (see duplicatesOf)
	ids        states.IDList // of dead letters that can go back
	applied    *versions.Applied
	newer      *newerRecords // nil for a pipeline
	ages       ages
	rewrite    *rewrite.Rewrite // nil leaves values unchanged
}

// planned is what a plan remembers of a chosen dead letter.
type planned struct {
	source  int64             // source offset of its first appearance
	content states.ContentKey // zero unless it can go back
	key     idempotency.KeyHash
	id      uint32 // index in planning.ids, if it can go back
}

// prepare chooses the dead letters of a plan and writes its head.
func (s *Service) prepare(ctx context.Context, f deadletters.Filter, o PlanOptions) (*planning, error) {
	if err := cmp.Or(f.Check(), operation.CheckActor(o.By), operation.CheckID(o.ID), s.checkForce(o.Force, o.To)); err != nil {
		return nil, err
	}
	to, err := s.targets.Find(ctx, target.Options{To: o.To, Origins: o.Origins, MaxReplays: o.MaxReplays, KeepTimestamp: o.KeepTimestamp})
	if err != nil {
		return nil, err
	}
	if err := s.dryRun.Resolve(ctx, &o.Rewrite); err != nil {
		return nil, err
	}
	p := &planning{to: to}
	if p.rewrite, err = s.dryRun.Compile(o.Rewrite); err != nil {
		return nil, err
	}
	passedOver := len(f.Statuses) == 0 && len(f.IDs) == 0
	f = pendingUnlessNamed(f)
	if err := s.selectLetters(ctx, p, f); err != nil {
		return nil, err
	}
	now := s.now().UTC().Truncate(time.Millisecond)
	p.head = plan.Head{
		ID: cmp.Or(o.ID, operation.NewID("replay", now)), Pipeline: s.cfg.Pipeline.ID, Source: s.cfg.Source.Topic, To: o.To,
		DLQ: s.cfg.Topics.DLQ, MadeAt: now, By: cmp.Or(o.By, s.by), Filter: f, Force: o.Force, KeepTimestamp: o.KeepTimestamp, Rewrite: o.Rewrite,
	}
	if passedOver {
		f.Statuses = []deadletters.Status{deadletters.Superseded}
		if p.head.Overtaken, err = p.index.Count(ctx, dlqindex.Query{Filter: f}); err != nil {
			return nil, err
		}
	}
	if s.alone {
		p.head.MaxReplays = to.Origins.MaxReplays
		p.head.Seen, p.head.Doubt, err = s.readNewer(ctx, p)
	} else {
		p.head.Doubt = p.applied.Doubt
		p.head.Mapping, err = s.dryRun.Fingerprint()
	}
	return p, err
}

// pendingUnlessNamed returns the filter of a plan or an edit. If the filter names no statuses and no IDs, it selects
// pending dead letters.
func pendingUnlessNamed(f deadletters.Filter) deadletters.Filter {
	if len(f.Statuses) == 0 && len(f.IDs) == 0 {
		f.Statuses = []deadletters.Status{deadletters.Pending}
	}
	return f
}

// selectLetters selects the dead letters of a plan and marks those that can go back.
func (s *Service) selectLetters(ctx context.Context, p *planning, f deadletters.Filter) (err error) {
	if p.selection, err = s.selectBy(ctx, f); err != nil {
		return err
	}
	p.letters = make([]planned, len(p.positions))
	err = s.eachRead(ctx, p.selection, func(n int, l *deadletters.Letter) error {
		_, why := s.target(ctx, l, p.to, p.states)
		p.mark(n, l, why == "")
		return nil
	})
	if err != nil {
		return err
	}
	p.duplicates = duplicatesOf(p.letters)
	if p.applied = versions.None(); s.alone || p.to.Elsewhere != "" { // there is no version guard
		return nil
	}
	p.applied, err = versions.Read(ctx, s.cfg, s.client, s.now(), p.keys())
	return err
}

func (p *planning) mark(n int, l *deadletters.Letter, goes bool) {
	m := &p.letters[n]
	m.key = l.KeyHash()
	if source := l.Control.Source; goes && l.Control.HasSource {
		p.ages.add(source)
		m.source, m.content, m.id = source.Offset, states.ContentOf(l), p.ids.Add(l.ID, source.Offset)
	}
}

// fill reads the chosen records again with their values, and writes a line for each.
func (s *Service) fill(ctx context.Context, w *plan.Writer, p *planning) error {
	if err := s.mapping.Load(ctx); err != nil {
		return err
	}
	return s.readEach(ctx, p.positions, func(n int, l *deadletters.Letter) (err error) {
		if l == nil {
			return nil // retention deleted it since it was chosen
		}
		line := s.line(ctx, l, p.to, p.states, p.duplicateOf(n))
		if line.Do != plan.Leave {
			why, err := deadletters.FetchOriginal(ctx, s.client, l, s.maxValue())
			if err != nil {
				return err
			}
			if why != "" {
				line.Leave(why)
			}
		}
		value := l.Content.Value
		if line.Do == plan.Reinject && p.rewrite != nil {
			if value, err = s.dryRun.Predict(ctx, p.rewrite, &line, l); err != nil {
				return err
			}
		}
		if line.Do != plan.Leave && s.alone {
			p.judge(ctx, s, &line, l, value, n)
		}
		if line.Do != plan.Leave {
			s.foresee(ctx, p, &line, l)
		}
		return w.Add(&line)
	})
}

// foresee predicts what the consumer will do with a dead letter.
func (s *Service) foresee(ctx context.Context, p *planning, line *plan.Line, l *deadletters.Letter) {
	if s.alone {
		line.Today.Passes = true // nobody judges it here
		return
	}
	var tried pipeline.Tried
	line.Today, tried = s.dryRun.Verdict(ctx, l, l.Content.Value)
	if p.head.To != "" {
		return
	}
	line.Today.Superseded = line.Today.Passes && p.applied.Supersedes(l, tried)
	if p.head.Force != "" {
		p.applied.Force(line, l, tried)
	}
}

// maxNamed bounds the error code and the feature ID in a plan, in bytes.
const maxNamed = 512

// line decides about a dead letter. duplicateOf is the dead letter of the same content that goes back in the same plan,
// or "".
func (s *Service) line(ctx context.Context, l *deadletters.Letter, to target.Destination, st *states.Table, duplicateOf string) plan.Line {
	p := plan.Line{
		Partition: l.DLQ.Partition, Offset: l.DLQ.Offset, ID: l.ID, ContentHash: l.ContentHash, Group: l.Group,
		Died: header.Clip(l.Control.ErrorCode, maxNamed), FeatureID: header.Clip(l.Control.FeatureID, maxNamed), Size: l.Size, Do: plan.Reinject,
	}
	state, unread := st.Of(l.ID)
	if unread == "" {
		p.ReprocessCount, p.StateAt, p.Reopened = state.ReprocessCount, millis(state.At), st.Reopened(l.ID)
	}
	target, why := s.target(ctx, l, to, st)
	p.Target = target.Name
	if why != "" {
		p.Do, p.Why, p.Overtaken = plan.Leave, header.Clip(why, plan.MaxMessage), state.Status == deadletters.Superseded
		return p
	}
	if other, ok := st.SameContent(l); ok {
		duplicateOf = other
	}
	if duplicateOf != "" {
		p.Do, p.DuplicateOf = plan.Duplicate, duplicateOf
	}
	return p
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// target returns why a dead letter cannot go back (see unfit). For a DLQ without a pipeline it also returns the topic
// that the dead letter goes to.
func (s *Service) target(ctx context.Context, l *deadletters.Letter, to target.Destination, st *states.Table) (t target.Topic, why string) {
	if why := s.unfit(l, to.Elsewhere, st); why != "" || !s.alone {
		return t, why
	}
	state, _ := st.Of(l.ID) // unfit has checked the error
	return to.Origins.Of(ctx, l, max(l.Control.ReplayCount, state.ReprocessCount))
}

// unfit returns why a dead letter cannot be replayed into the source topic (an empty to) or another one, or "". It
// uses the given states, which may be newer than the listing of the dead letter.
func (s *Service) unfit(l *deadletters.Letter, to string, st *states.Table) string {
	state, why := st.Of(l.ID)
	if why != "" {
		return why
	}
	if !state.Status.CanBecome(deadletters.Replaying) {
		return fmt.Sprintf("it is %s%s%s", state.Status, since(state), nextStep(state))
	}
	if why := s.missingValue(l); why != "" {
		return why
	}
	source, known := l.Source()
	switch {
	case l.Dialect == dialects.ShareGroup && l.Size == 0:
		return "a share group wrote it without the record's value (the group does not copy records): putting it back would delete the feature"
	case s.alone:
		return ""
	case !known:
		return "its first position is unknown (no readable header " + header.KeySource +
			"): a replay would treat it as new, and it could overwrite newer data"
	case source.Topic != s.cfg.Source.Topic:
		return fmt.Sprintf("it comes from topic %s, but this pipeline reads %s", source.Topic, s.cfg.Source.Topic)
	case to == "" && l.Keyed() && source.Partition != l.DLQ.Partition:
		return fmt.Sprintf("it comes from partition %d of %s but is in partition %d of the DLQ: put back there, it would not be ordered with the other events of its key, and it could "+
			"overwrite newer data; --to sends it to another topic", source.Partition, source.Topic, l.DLQ.Partition)
	}
	return ""
}

// missingValue returns why the value of a dead letter is not available for a replay, or "".
func (s *Service) missingValue(l *deadletters.Letter) string {
	const way = ": raise source.max_record_bytes and make a new plan, or write the value to a file with replayer show %s --out FILE"
	switch p := l.Pointer; {
	case l.TooLarge != "":
		return l.TooLarge
	case p == nil:
		return ""
	case p.Topic != s.cfg.Source.Topic && !s.alone:
		return fmt.Sprintf("its record is a pointer into topic %s, but this pipeline reads %s", p.Topic, s.cfg.Source.Topic)
	case !p.Read():
		return fmt.Sprintf("its value is unknown: it is at %s, in a batch that could not be decompressed", p.Position)
	case p.Bytes > int64(s.maxValue()):
		return fmt.Sprintf("its value has %d bytes, and the pipeline accepts at most %d"+way, p.Bytes, s.maxValue(), l.ID)
	}
	return ""
}

// nextStep returns what an operator can do about a dead letter that cannot be replayed because of its state.
func nextStep(state deadletters.State) string {
	switch {
	case state.Destination != "":
		return "; it was put back into " + state.Destination + " already; after replayer reopen --including-put-back, a replay sends it a second time"
	case state.Status == deadletters.Superseded:
		return "; newer data took effect: to overwrite it with this dead letter, use replayer reopen, then plan it with --force-version"
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

// keys returns the keys of the chosen dead letters, sorted.
func (p *planning) keys() []idempotency.KeyHash {
	keys := make([]idempotency.KeyHash, len(p.letters))
	for i := range p.letters {
		keys[i] = p.letters[i].key
	}
	slices.SortFunc(keys, idempotency.KeyHash.Compare)
	return slices.Compact(keys)
}
