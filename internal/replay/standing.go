package replay

import (
	"crypto/sha256"
	"fmt"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// standing has the state of every dead letter from the status topic. It needs about 150 bytes for each, so that a
// replay of a million dead letters fits in memory. It keeps only the fields that decisions need.
type standing struct {
	marks      map[idKey]mark
	broken     map[string]string     // dead letters whose last state record is unreadable, with the error
	holders    map[contentKey]uint32 // content that was put back and has not failed again, with the index of its dead letter in ids
	ids        idList
	words      words                // replay IDs, operators, topics and reasons
	maxReplays int                  // number of replays after which a dead letter that failed again is escalated
	heads      map[int32]audit.Head // last link of each chain of the audit topic
	ends       map[int32]int64      // offsets up to which the status topic was read
	foreign    Foreign              // outcomes that do not count

	sent map[sentKey]int64 // youngest source offset that went to another topic, by key

	elsewhere bool // content that was sent to a topic outside the pipeline counts as put back

	watched touched // changed by the operation to reverse
	own     touched // changed by the operation that reads the states
}

// touched contains the dead letters whose last state comes from one operation, with their status before it.
type touched struct {
	operation string // "" is none
	before    map[idKey]deadletters.Status
}

// note processes the next state of a dead letter.
func (t *touched) note(key idKey, state deadletters.State) {
	if t.operation != "" && state.Operation == t.operation {
		t.before[key] = state.Before
	} else {
		delete(t.before, key)
	}
}

// idKey identifies a dead letter by the first half of the SHA-256 of its ID.
type idKey [16]byte

// mark is the compact state of one dead letter.
type mark struct {
	at     int64 // Unix milliseconds
	replay uint32
	by     uint32
	to     uint32 // index of the topic outside the pipeline that the replay sent it to; "" for other states
	count  int32
	reason uint32 // index of the reason why the replay failed, in the consumer's words; "" for other states
	last   deadletters.Last
	marked marks

	partition int32 // partition of the record that an operator decided about, for other software
	offset    int64 // its offset
}

func newStanding(maxReplays int, watched string) *standing {
	return &standing{
		watched: touched{watched, map[idKey]deadletters.Status{}}, own: touched{"", map[idKey]deadletters.Status{}},
		maxReplays: maxReplays, sent: map[sentKey]int64{},
		marks: map[idKey]mark{}, broken: map[string]string{}, holders: map[contentKey]uint32{},
		heads: map[int32]audit.Head{}, ends: map[int32]int64{}, words: newWords(),
	}
}

// add processes one record of the status topic. A later record of a dead letter replaces the earlier one, and a
// tombstone removes it. An unreadable record makes the state unknown instead of pending, so that a dead letter that
// may have been replayed is not replayed again.
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

// addHead stores the head of an audit chain.
func (s *standing) addHead(value []byte) {
	if head, err := deadletters.ParseChainHead(value); err == nil {
		s.heads[head.Partition] = head.Head
	}
}

// set stores a state.
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

// of returns the state of a dead letter, or why its record is unreadable. A dead letter without a record is pending.
// The result lacks source, DLQ position, content hash and reason.
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

// ChangedBefore returns the status that a dead letter had before the operation that loaded the table changed it. ok is
// false if that operation has not changed it, or another one changed it since (see [Reader.LoadDecided]).
func (s *standing) ChangedBefore(id string) (before deadletters.Status, ok bool) {
	before, ok = s.own.before[keyOf(id)]
	return before, ok
}

// OwnChanges returns the number of dead letters that the operation that loaded the table changed last.
func (s *standing) OwnChanges() int { return len(s.own.before) }

// Undoable returns the status that a dead letter had before the operation to undo changed it. ok is false if another
// operation changed it since.
func (s *standing) Undoable(id string) (before deadletters.Status, ok bool) {
	before, ok = s.watched.before[keyOf(id)]
	return before, ok
}

// hear applies the outcome that the record of a dead letter reports about its last replay, if other software wrote
// the record (see [deadletters.ExternalOutcome]).
func (s *standing) hear(l *deadletters.Letter) {
	if !deadletters.ReportsOutcome(l) {
		return
	}
	state, why := s.of(l.ID)
	if why != "" {
		return // no outcome applies to an unreadable state
	}
	if m := s.marks[keyOf(l.ID)]; m.has(looked) {
		state.DLQ = header.Position{Topic: l.DLQ.Topic, Partition: m.partition, Offset: m.offset}
	}
	if heard := deadletters.ExternalOutcome(l, state, s.maxReplays); heard != state {
		s.set(heard)
	}
}

func keyOf(id string) idKey {
	sum := sha256.Sum256([]byte(id))
	return idKey(sum[:16])
}

// words stores each distinct text once. The index of "" is 0.
type words struct {
	index map[string]uint32
	list  []string
}

func newWords() words { return words{index: map[string]uint32{"": 0}, list: []string{""}} }

func (w *words) of(text string) uint32 {
	i, ok := w.index[text]
	if !ok {
		i = uint32(len(w.list))
		w.index[text] = i
		w.list = append(w.list, text)
	}
	return i
}
