package replay

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// standing is what the status topic says of every letter, in little memory: about 150 bytes a letter, so
// that a replay of a million letters has room: of a state it knows only what a decision needs.
type standing struct {
	marks   map[idKey]mark
	broken  map[string]string     // letters whose last state record cannot be read, and why
	holders map[contentKey]uint32 // content that was put back and has not failed again -> place of the letter in ids
	ids     idList
	words   words                // replay ids and people
	most    int                  // replays from which a letter that failed again is escalated
	heads   map[int32]audit.Head // last link of each chain of the audit topic
	ends    map[int32]int64      // up to where the status topic was read
	foreign Foreign              // outcomes that do not count

	sent map[sentKey]int64 // keys whose letters went to another topic -> offset of the youngest in the source

	elsewhere bool // what was sent to a topic that is not the pipeline's holds its content, too

	watched touched // by the operation that is to be reversed
	own     touched // by the operation that reads the states
}

// touched is the letters whose last state is of one operation, and what they were before it.
type touched struct {
	operation string // "" is none
	before    map[idKey]deadletters.Status
}

// note takes over a letter's next state.
func (t *touched) note(key idKey, state deadletters.State) {
	if t.operation != "" && state.Operation == t.operation {
		t.before[key] = state.Before
	} else {
		delete(t.before, key)
	}
}

// idKey stands for a letter's id: half of its SHA-256.
type idKey [16]byte

// mark is the state of one letter.
type mark struct {
	at     int64 // Unix milliseconds
	replay uint32
	by     uint32
	to     uint32 // topic that the replay sent it to, outside the pipeline; "" of other states
	count  int32
	reason uint32 // why the replay failed, in the consumer's words; "" of other states
	last   deadletters.Last
	marked marks

	partition int32 // of the record that an operator decided about, of a letter of other software
	offset    int64 // likewise
}

func newStanding(most int, watched string) *standing {
	return &standing{
		watched: touched{watched, map[idKey]deadletters.Status{}}, own: touched{"", map[idKey]deadletters.Status{}},
		most: most, sent: map[sentKey]int64{},
		marks: map[idKey]mark{}, broken: map[string]string{}, holders: map[contentKey]uint32{},
		heads: map[int32]audit.Head{}, ends: map[int32]int64{}, words: words{index: map[string]uint32{}},
	}
}

// loadStanding reads what can be read of the status topic at present. To act on it is not safe (see [Service.startWriter]).
func (s *Service) loadStanding(ctx context.Context) (*standing, error) {
	return s.watchStanding(ctx, "")
}

// watchStanding is loadStanding that notes which letters are as an operation left them.
func (s *Service) watchStanding(ctx context.Context, operation string) (*standing, error) {
	spans, err := s.statusSpans(ctx)
	if err != nil {
		return nil, err
	}
	return s.standingOf(ctx, spans, operation, "")
}

// standingOf reads spans of the status topic. It notes which letters are as the operation watched left them, and as own did.
func (s *Service) standingOf(ctx context.Context, spans map[int32]kafka.Span, watched, own string) (*standing, error) {
	st := newStanding(s.cfg.DeadLetters.MaxReplays, watched)
	st.own.operation, st.elsewhere = own, s.alone
	for p, span := range spans {
		st.ends[p] = span.End
	}
	err := deadletters.ScanStates(ctx, s.logOf(), s.cfg.Topics.DLQStatus, spans, func(r *deadletters.StateRecord) error {
		st.add(r)
		return nil
	})
	return st, err
}

// followStates calls fn for each record of the status topic that lies in spans and behind what was read. It moves read on as it goes, so
// that after an error the next call goes on from there.
func (s *Service) followStates(ctx context.Context, spans map[int32]kafka.Span, read map[int32]int64, fn func(*deadletters.StateRecord)) error {
	rest := map[int32]kafka.Span{}
	for p, span := range spans {
		if span.Start = max(span.Start, read[p]); span.Start < span.End {
			rest[p] = span
		}
	}
	err := deadletters.ScanStates(ctx, s.logOf(), s.cfg.Topics.DLQStatus, rest, func(r *deadletters.StateRecord) error {
		fn(r)
		read[r.At.Partition] = r.At.Offset + 1
		return nil
	})
	if err != nil {
		return err
	}
	for p, span := range rest { // past markers
		read[p] = span.End
	}
	return nil
}

// add takes over one record of the status topic. A later record of a letter replaces the earlier one; a
// tombstone removes it. A record that cannot be read makes its letter's state unknown rather than pending: a
// letter that may have been replayed is not replayed again.
func (s *standing) add(r *deadletters.StateRecord) {
	switch {
	case r.ChainHead != nil:
		s.addHead(r.ChainHead)
	case r.Removed:
		delete(s.broken, r.ID)
		delete(s.marks, keyOf(r.ID))
		delete(s.watched.before, keyOf(r.ID))
		delete(s.own.before, keyOf(r.ID))
	case r.Err != nil:
		s.broken[r.ID] = r.Err.Error()
	case s.disputed(r):
	default:
		s.set(r.State)
		s.noteSent(&r.State)
	}
}

// addHead takes over the head of a chain.
func (s *standing) addHead(value []byte) {
	if head, err := deadletters.ParseChainHead(value); err == nil {
		s.heads[head.Partition] = head.Head
	}
}

// set takes over a state.
func (s *standing) set(state deadletters.State) {
	if len(s.broken) > 0 {
		delete(s.broken, state.ID)
	}
	key := keyOf(state.ID)
	s.marks[key] = s.mark(s.marks[key], state)
	s.watched.note(key, state)
	s.own.note(key, state)
	if state.Status.HoldsContent() || s.elsewhere && state.Destination != "" {
		s.hold(state)
	} else {
		s.release(state)
	}
}

// of returns the state of a letter, or why its record cannot be read. A letter without a record is pending. Source, DLQ,
// content hash and reason are not known here.
func (s *standing) of(id string) (state deadletters.State, why string) {
	if why, ok := s.broken[id]; ok {
		return state, fmt.Sprintf("the state of dead letter %s cannot be read: %s", id, why)
	}
	m, ok := s.marks[keyOf(id)]
	if !ok {
		return deadletters.State{ID: id, Status: deadletters.Pending}, ""
	}
	return deadletters.State{
		ID: id, Status: m.last.Status(), ReprocessCount: int(m.count), ReplayID: s.words.list[m.replay], By: s.words.list[m.by],
		Writer: m.last.Writer(), At: m.time(), Destination: s.words.list[m.to],
	}, ""
}

// hear takes over what a letter's record says of its last replay, when other software wrote it (see [deadletters.ExternalOutcome]).
func (s *standing) hear(l *deadletters.Letter) {
	if !deadletters.ReportsOutcome(l) {
		return
	}
	state, why := s.of(l.ID)
	if why != "" {
		return // a state that cannot be read is none to go on from
	}
	if m := s.marks[keyOf(l.ID)]; m.has(looked) {
		state.DLQ = header.Position{Topic: l.DLQ.Topic, Partition: m.partition, Offset: m.offset}
	}
	if heard := deadletters.ExternalOutcome(l, state, s.most); heard != state {
		s.set(heard)
	}
}

func keyOf(id string) idKey {
	sum := sha256.Sum256([]byte(id))
	return idKey(sum[:16])
}

// words keeps each of a few texts once.
type words struct {
	index map[string]uint32
	list  []string
}

func (w *words) of(text string) uint32 {
	i, ok := w.index[text]
	if !ok {
		i = uint32(len(w.list))
		w.index[text] = i
		w.list = append(w.list, text)
	}
	return i
}
