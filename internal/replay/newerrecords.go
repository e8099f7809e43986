package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/states"
	"github.com/switchback-geo/switchback/internal/replay/target"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// newerRecords finds newer records for the keys of dead letters of a DLQ without a pipeline: a value in a compacted
// topic, or another dead letter. It is for one goroutine at a time.
type newerRecords struct {
	client  *kgo.Client
	states  *states.Table
	values  target.Newest
	fresh   map[string]bool          // compacted topics that were read recently enough
	planned map[states.SentKey]int64 // youngest offset among the dead letters of the plan being made
}

// newerRecords returns a finder of newer records. seen contains the offsets up to which compacted topics were read
// before.
func (s *Service) newerRecords(st *states.Table, seen map[string]map[int32]int64) *newerRecords {
	wrote := func(r *kgo.Record) bool { return st.Wrote(s.cfg.Topics.DLQ, r) }
	return &newerRecords{client: s.client, states: st, values: target.Newest{Ends: seen, Ignore: wrote}, fresh: map[string]bool{}, planned: map[states.SentKey]int64{}}
}

// expire makes the next lookup read each topic again.
func (n *newerRecords) expire() {
	if n != nil {
		clear(n.fresh)
	}
}

// read reads the new records of a compacted topic, unless the topic is fresh.
func (n *newerRecords) read(ctx context.Context, topic string) error {
	if n.fresh[topic] {
		return nil
	}
	if err := n.values.Read(ctx, n.client, topic); err != nil {
		return err
	}
	n.fresh[topic] = true
	return nil
}

// hasNewerValue reports whether a compacted topic has a newer value of the dead letter's key than the record at a
// position. The zero position is unknown.
func (n *newerRecords) hasNewerValue(l *deadletters.Letter, t *target.Topic, from header.Position) bool {
	return t.Compacted && l.Keyed() && n.values.Than(t.Name, l.KeyHash(), from, l.Control.SourceTimestamp)
}

// maxAges bounds the partitions whose order is checked. Anybody who can write to the DLQ can name any number of them.
const maxAges = 1000

// ages reports whether the dead letters lie in the DLQ in the order in which they were written to their sources. In
// that order, none follows a younger one.
type ages struct {
	youngest map[header.Position]int64 // by partition, with offset 0 in the key
	mixed    bool
}

func (a *ages) add(source header.Position) {
	offset := source.Offset
	source.Offset = 0
	before, known := a.youngest[source]
	if a.mixed || known && offset < before || len(a.youngest) >= maxAges {
		a.mixed = true
		return
	}
	if a.youngest == nil {
		a.youngest = map[header.Position]int64{}
	}
	a.youngest[source] = offset
}

// positionOf returns the source position of the record that died, or zero if it is unknown.
func positionOf(l *deadletters.Letter) header.Position {
	if !l.Control.HasSource {
		return header.Position{}
	}
	return l.Control.Source
}

// sentKey returns the sentKey of a dead letter that goes to a topic. ok is false if the dead letter has no order.
func (n *newerRecords) sentKey(l *deadletters.Letter, to string) (key states.SentKey, offset int64, ok bool) {
	source, known := l.Source()
	key = n.states.SentKey(to, source, l.KeyHash())
	return key, source.Offset, known && l.Keyed()
}

// youngerSent reports whether a younger dead letter of the key was put back into the topic, and whether one goes back
// earlier in the plan being made.
func (n *newerRecords) youngerSent(l *deadletters.Letter, to string) (sent, planned bool) {
	key, offset, ok := n.sentKey(l, to)
	return ok && n.states.SentAfter(key, offset), ok && n.planned[key] > offset
}

func (n *newerRecords) addPlanned(l *deadletters.Letter, to string) {
	if key, offset, ok := n.sentKey(l, to); ok {
		n.planned[key] = max(n.planned[key], offset)
	}
}

// readNewer reads the compacted topics that the dead letters of a plan go to, in a DLQ without a pipeline. It returns
// the offsets up to which it read. In a forced plan, a topic that cannot be read becomes a doubt instead of an error.
func (s *Service) readNewer(ctx context.Context, p *planning) (seen map[string]map[int32]int64, doubt string, err error) {
	p.newer = s.newerRecords(p.states, nil)
	p.newer.values.Keys = p.keys()
	doubt = p.to.Origins.Doubt()
	for _, topic := range p.to.Origins.Compacted() {
		err := p.newer.read(ctx, topic)
		switch {
		case err != nil && p.head.Force == "":
			return nil, "", fmt.Errorf("it is unknown which dead letters would hide newer data: %w", err)
		case err != nil:
			doubt = header.Clip(cmp.Or(doubt, err.Error()), plan.MaxMessage)
		}
	}
	return p.newer.values.Ends, doubt, nil
}

// judgeOrder sets in the line of a plan what newer records of the key mean for the dead letter.
func (n *newerRecords) judgeOrder(line *plan.Line, l *deadletters.Letter, t *target.Topic, force bool) {
	value := n.hasNewerValue(l, t, positionOf(l))
	sent, planned := n.youngerSent(l, t.Name)
	switch {
	case t.Compacted && planned:
		line.Leave(fmt.Sprintf("topic %s is compacted, and a younger dead letter of its key goes back there before it", t.Name))
	case t.Compacted && (value || sent) && force:
		line.Force, line.Today.Superseded = true, true
	case t.Compacted && (value || sent):
		line.Leave(hides(t.Name))
	default:
		line.Reversed = sent || planned
	}
}

// hides returns why a dead letter with a newer value of its key is left.
func hides(topic string) string {
	return fmt.Sprintf("topic %s is compacted and has a newer value of its key, which it would hide; --force-version sends it anyway", topic)
}

// judge sets in the line of the nth dead letter of a plan whether the topic takes it, and what newer records of its
// key mean.
func (p *planning) judge(ctx context.Context, s *Service, line *plan.Line, l *deadletters.Letter, value []byte, n int) {
	t := p.to.Origins.Topic(ctx, line.Target)
	if line.Do == plan.Duplicate {
		p.judgeDuplicate(line, l, &t, n)
		return
	}
	p.newer.judgeOrder(line, l, &t, p.head.Force != "")
	if line.Do != plan.Reinject {
		return
	}
	if r := p.to.Origins.PutBack(s.dryRun.Headers, &t, &p.head, l, value); !t.Fits(r) {
		line.Leave(fmt.Sprintf("topic %s does not accept a record of this size, even compressed (max.message.bytes)", t.Name))
		return
	}
	if p.ages.mixed { // otherwise none follows a younger one, and a million keys need no memory
		p.newer.addPlanned(l, t.Name)
	}
}

// judgeDuplicate leaves a duplicate if the dead letter with the same content is left.
func (p *planning) judgeDuplicate(line *plan.Line, l *deadletters.Letter, t *target.Topic, n int) {
	other, ok := p.duplicates[n]
	if !ok || p.head.Force != "" || line.DuplicateOf != p.duplicateOf(n) {
		return
	}
	from := l.Control.Source
	from.Offset = p.letters[other].source
	if p.newer.hasNewerValue(l, t, from) {
		line.Leave(hides(t.Name))
	}
}

// newerThanPlanned returns why a dead letter of the plan does not go back now: a newer record of its key arrived since.
// It does not see records that arrive while a transaction is prepared and written, since Kafka has no conditional
// write.
func (r *replaying) newerThanPlanned(ctx context.Context, p *plan.Line, l *deadletters.Letter, t *target.Topic) (why string, err error) {
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
	sent, _ := r.newer.youngerSent(l, t.Name)
	switch {
	case r.newer.hasNewerValue(l, t, positionOf(l)), sent && t.Compacted:
		return hides(t.Name) + ". The plan is older than this value: make a new plan", nil
	case sent && !p.Reversed:
		return fmt.Sprintf("a younger dead letter of its key was put back into %s since the plan was made: make a new plan", t.Name), nil
	}
	return "", nil
}
