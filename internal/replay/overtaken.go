package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/target"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// newer knows, for letters of a DLQ without a pipeline, what newer record of their key is there: a value of a compacted topic, or another
// letter. It is for one goroutine at a time.
type newer struct {
	client   *kgo.Client
	standing *standing
	values   target.Newest
	fresh    map[string]bool   // compacted topics that need not be read again yet
	planned  map[sentKey]int64 // letters of the plan that is being made -> the youngest offset
}

// newerOf prepares to look. seen is up to where compacted topics were read before.
func (s *Service) newerOf(st *standing, seen map[string]map[int32]int64) *newer {
	wrote := func(r *kgo.Record) bool { return st.wrote(s.cfg.Topics.DLQ, r) }
	return &newer{client: s.client, standing: st, values: target.Newest{Ends: seen, Ignore: wrote}, fresh: map[string]bool{}, planned: map[sentKey]int64{}}
}

// expire has each topic read again before the next letter goes there.
func (n *newer) expire() {
	if n != nil {
		clear(n.fresh)
	}
}

// read reads what came into a compacted topic, unless it was just read.
func (n *newer) read(ctx context.Context, topic string) error {
	if n.fresh[topic] {
		return nil
	}
	if err := n.values.Read(ctx, n.client, topic); err != nil {
		return err
	}
	n.fresh[topic] = true
	return nil
}

// value reports whether a compacted topic has a newer value of the letter's key than one that lay at a position; the zero position is unknown.
func (n *newer) value(l *deadletters.Letter, t *target.Topic, from header.Position) bool {
	return t.Compacted && l.Keyed() && n.values.Than(t.Name, l.KeyHash(), from, l.Control.SourceTimestamp)
}

// ages tells whether letters lie in the DLQ in the order in which they were written to their sources. Then none is behind a younger one.
type ages struct {
	youngest map[header.Position]int64 // by partition: the offset is 0
	mixed    bool
}

func (a *ages) add(source header.Position) {
	offset := source.Offset
	source.Offset = 0
	before, known := a.youngest[source]
	if a.mixed || known && offset < before || len(a.youngest) >= mostTargets {
		a.mixed = true
		return
	}
	if a.youngest == nil {
		a.youngest = map[header.Position]int64{}
	}
	a.youngest[source] = offset
}

// positionOf returns the position of the record that died; zero if it is not known.
func positionOf(l *deadletters.Letter) header.Position {
	if !l.Control.HasSource {
		return header.Position{}
	}
	return l.Control.Source
}

// sentKey is a key of one partition of a source, and the topic that its letters were put back into.
type sentKey struct {
	to, from  uint32 // in the words of a standing
	partition int32
	key       idempotency.KeyHash
}

func (s *standing) sentKey(to string, source header.Position, key idempotency.KeyHash) sentKey {
	return sentKey{s.words.of(to), s.words.of(source.Topic), source.Partition, key}
}

// noteSent notes that a letter was put back, and returns the offset in the source of the youngest one of its key before; -1 is none.
func (s *standing) noteSent(state *deadletters.State) (before int64) {
	if !s.elsewhere || state.Destination == "" || state.KeyHash.IsZero() || state.Source.Topic == "" {
		return -1
	}
	key := s.sentKey(state.Destination, state.Source, state.KeyHash)
	before, ok := s.sent[key]
	if !ok {
		before = -1
	}
	s.sent[key] = max(before, state.Source.Offset)
	return before
}

// unnoteSent takes back what noteSent noted.
func (s *standing) unnoteSent(state *deadletters.State, before int64) {
	key := s.sentKey(state.Destination, state.Source, state.KeyHash)
	switch {
	case s.sent[key] != state.Source.Offset: // a younger one was put back, too
	case before < 0:
		delete(s.sent, key)
	default:
		s.sent[key] = before
	}
}

// wrote reports whether a record is a letter of this DLQ that was put back: its value is as old as the letter.
func (s *standing) wrote(dlq string, r *kgo.Record) bool {
	_, letter := marked(r)
	id, own := strings.CutSuffix(letter, deadletters.IDIn(dlq, ""))
	return own && s.marks[keyOf(id)].has(sentTo)
}

// sentKey is that of a letter which goes to a topic; ok is false when nothing orders it.
func (n *newer) sentKey(l *deadletters.Letter, to string) (key sentKey, offset int64, ok bool) {
	source, known := l.Source()
	key = n.standing.sentKey(to, source, l.KeyHash())
	return key, source.Offset, known && l.Keyed()
}

// letters reports whether a younger letter of the key was put back into the topic, and whether one goes back before this one in the plan
// that is being made.
func (n *newer) letters(l *deadletters.Letter, to string) (sent, planned bool) {
	key, offset, ok := n.sentKey(l, to)
	return ok && n.standing.sent[key] > offset, ok && n.planned[key] > offset
}

func (n *newer) plan(l *deadletters.Letter, to string) {
	if key, offset, ok := n.sentKey(l, to); ok {
		n.planned[key] = max(n.planned[key], offset)
	}
}

// seeNewer looks, for a plan of a DLQ without a pipeline, for newer values in the compacted topics that its letters go to. It returns up to
// where it read them. With force, what cannot be read leaves a doubt.
func (s *Service) seeNewer(ctx context.Context, p *planning) (seen map[string]map[int32]int64, doubt string, err error) {
	p.newer = s.newerOf(p.standing, nil)
	p.newer.values.Keys = p.keys()
	doubt = p.to.origins.doubt()
	for _, topic := range p.to.origins.compacted() {
		err := p.newer.read(ctx, topic)
		switch {
		case err != nil && p.head.Force == "":
			return nil, "", fmt.Errorf("which dead letters would hide newer data is not known: %w", err)
		case err != nil:
			doubt = clip(cmp.Or(doubt, err.Error()), maxMessage)
		}
	}
	return p.newer.values.Ends, doubt, nil
}

// order says in a line of a plan what it means that newer records of the letter's key are there.
func (n *newer) order(line *plan.Letter, l *deadletters.Letter, t *target.Topic, force bool) {
	value := n.value(l, t, positionOf(l))
	sent, planned := n.letters(l, t.Name)
	switch {
	case t.Compacted && planned:
		leaveLine(line, fmt.Sprintf("topic %s is compacted, and a younger dead letter of its key goes back there before it", t.Name))
	case t.Compacted && (value || sent) && force:
		line.Force, line.Today.Superseded = true, true
	case t.Compacted && (value || sent):
		leaveLine(line, hides(t.Name))
	default:
		line.Reversed = sent || planned
	}
}

// hides says why a letter with a newer value of its key is left.
func hides(topic string) string {
	return fmt.Sprintf("topic %s is compacted and has a newer value of its key, which it would hide; --force-version sends it all the same", topic)
}

func leaveLine(line *plan.Letter, why string) {
	line.Do, line.DuplicateOf, line.Why = plan.Leave, "", clip(why, maxMessage)
}

// judge says in the line of the nth letter of a plan whether the topic takes the letter, and what newer records of its key mean.
func (p *planning) judge(ctx context.Context, s *Service, line *plan.Letter, l *deadletters.Letter, value []byte, n int) {
	t := p.to.origins.target(ctx, line.Target)
	if line.Do == plan.Duplicate {
		p.judgeTwin(line, l, &t, n)
		return
	}
	p.newer.order(line, l, &t, p.head.Force != "")
	if line.Do != plan.Reinject {
		return
	}
	if r := p.to.origins.putBack(s.headers, &t, &p.head, l, value); !t.Fits(r) {
		leaveLine(line, fmt.Sprintf("topic %s does not take so large a record, even compressed (max.message.bytes)", t.Name))
		return
	}
	if p.ages.mixed { // else there is nothing to find, and a million keys need no memory
		p.newer.plan(l, t.Name)
	}
}

// judgeTwin leaves a duplicate when the letter that is to stand for it is left.
func (p *planning) judgeTwin(line *plan.Letter, l *deadletters.Letter, t *target.Topic, n int) {
	twin, ok := p.twins[n]
	if !ok || p.head.Force != "" || line.DuplicateOf != p.twin(n) {
		return
	}
	from := l.Control.Source
	from.Offset = p.marks[twin].source
	if p.newer.value(l, t, from) {
		leaveLine(line, hides(t.Name))
	}
}

// overtaken says why a letter does not go back now, though the plan sends it: a newer record of its key came since. What comes while a
// transaction is being prepared and written is not seen: Kafka has no condition on a write.
func (r *replaying) overtaken(ctx context.Context, p *plan.Letter, l *deadletters.Letter, t *target.Topic) (why string, err error) {
	if p.Force {
		return "", nil
	}
	if t.Compacted {
		err := r.newer.read(ctx, t.Name)
		if errors.Is(err, target.ErrManyKeys) {
			return "", fmt.Errorf("%w: make a new plan", err)
		}
		if err != nil {
			return "", err
		}
	}
	sent, _ := r.newer.letters(l, t.Name)
	switch {
	case r.newer.value(l, t, positionOf(l)), sent && t.Compacted:
		return hides(t.Name) + ". It came since the plan was made: make a new plan", nil
	case sent && !p.Reversed:
		return fmt.Sprintf("a younger dead letter of its key was put back into %s since the plan was made: make a new plan", t.Name), nil
	}
	return "", nil
}
