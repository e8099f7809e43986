package states

import (
	"crypto/sha256"
	"fmt"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Table has the state of every dead letter from the status topic. It needs about 150 bytes for each, so that a
// replay of a million dead letters fits in memory. It keeps only the fields that decisions need.
type Table struct {
	entries    map[Key]entry
	broken     map[string]string     // dead letters whose last state record is unreadable, with the error
	contents   map[ContentKey]uint32 // content that was put back and has not failed again, with the index of its dead letter in ids
	ids        IDList
	texts      texts             // replay IDs, operators, topics and reasons
	maxReplays int               // number of replays after which a dead letter that failed again is escalated
	foreign    Foreign           // outcomes that do not count
	sent       map[SentKey]int64 // youngest source offset that went to another topic, by key
	elsewhere  bool              // content that was sent to a topic outside the pipeline counts as put back
	toUndo     changes           // changed by the operation to reverse
	own        changes           // changed by the operation that loaded the table

	Heads map[int32]audit.Head // last link of each chain of the audit topic
	Ends  map[int32]int64      // offsets up to which the status topic was read
}

// changes has the dead letters whose last state comes from one operation, with their status before it.
type changes struct {
	operation string // "" is none
	before    map[Key]deadletters.Status
}

// add processes the next state of a dead letter.
func (t *changes) add(key Key, state deadletters.State) {
	if t.operation != "" && state.Operation == t.operation {
		t.before[key] = state.Before
	} else {
		delete(t.before, key)
	}
}

// Key identifies a dead letter by the first half of the SHA-256 of its ID.
type Key [16]byte

// entry is the compact state of one dead letter.
type entry struct {
	at     int64 // Unix milliseconds
	replay uint32
	by     uint32
	to     uint32 // index of the topic outside the pipeline that the replay sent it to; "" for other states
	count  int32
	reason uint32 // index of the reason why the replay failed, in the consumer's words; "" for other states
	last   deadletters.Last
	flags  flags

	partition int32 // partition of the record that an operator decided about, for other software
	offset    int64 // its offset
}

// NewTable returns a table without any state.
func NewTable(maxReplays int) *Table {
	return &Table{
		toUndo: changes{before: map[Key]deadletters.Status{}}, own: changes{before: map[Key]deadletters.Status{}},
		maxReplays: maxReplays, sent: map[SentKey]int64{},
		entries: map[Key]entry{}, broken: map[string]string{}, contents: map[ContentKey]uint32{},
		Heads: map[int32]audit.Head{}, Ends: map[int32]int64{}, texts: newTexts(),
	}
}

// add processes one record of the status topic. A later record of a dead letter replaces the earlier one, and a
// tombstone removes it. An unreadable record makes the state unknown instead of pending, so that a dead letter that
// may have been replayed is not replayed again.
func (s *Table) add(r *deadletters.StateRecord) {
	switch {
	case r.ChainHead != nil:
		s.addHead(r.ChainHead)
	case r.Removed:
		delete(s.broken, r.ID)
		delete(s.entries, KeyOf(r.ID))
		delete(s.toUndo.before, KeyOf(r.ID))
		delete(s.own.before, KeyOf(r.ID))
	case r.Err != nil:
		s.broken[r.ID] = r.Err.Error()
	case s.disputed(r):
	default:
		s.Set(r.State)
		s.AddSent(&r.State)
	}
}

// addHead stores the head of an audit chain.
func (s *Table) addHead(value []byte) {
	if head, err := deadletters.ParseChainHead(value); err == nil {
		s.Heads[head.Partition] = head.Head
	}
}

// Set stores a state.
func (s *Table) Set(state deadletters.State) {
	if len(s.broken) > 0 {
		delete(s.broken, state.ID)
	}
	key := KeyOf(state.ID)
	s.entries[key] = s.entry(s.entries[key], state)
	s.toUndo.add(key, state)
	s.own.add(key, state)
	if state.Status.HoldsContent() || s.elsewhere && state.Destination != "" {
		s.HoldContent(state)
	} else {
		s.release(state)
	}
}

// Of returns the state of a dead letter, or why its record is unreadable. A dead letter without a record is pending.
// The result lacks source, DLQ position, content hash and reason.
func (s *Table) Of(id string) (state deadletters.State, why string) {
	if why, ok := s.broken[id]; ok {
		return state, fmt.Sprintf("the state of dead letter %s cannot be read: %s", id, why)
	}
	m, ok := s.entries[KeyOf(id)]
	if !ok {
		return deadletters.State{ID: id, Status: deadletters.Pending}, ""
	}
	return deadletters.State{
		ID: id, Status: m.last.Status(), ReprocessCount: int(m.count), ReplayID: s.texts.list[m.replay], By: s.texts.list[m.by],
		Writer: m.last.Writer(), At: m.time(), Destination: s.texts.list[m.to],
	}, ""
}

// ChangedBefore returns the status that a dead letter had before the operation that loaded the table changed it. ok is
// false if that operation has not changed it, or another one changed it since (see [Reader.LoadDecided]).
func (s *Table) ChangedBefore(id string) (before deadletters.Status, ok bool) {
	before, ok = s.own.before[KeyOf(id)]
	return before, ok
}

// OwnChanges returns the number of dead letters that the operation that loaded the table changed last.
func (s *Table) OwnChanges() int { return len(s.own.before) }

// Undoable returns the status that a dead letter had before the operation to undo changed it. ok is false if another
// operation changed it since.
func (s *Table) Undoable(id string) (before deadletters.Status, ok bool) {
	before, ok = s.toUndo.before[KeyOf(id)]
	return before, ok
}

// ApplyReported applies the outcome that the record of a dead letter reports about its last replay, if other software
// wrote the record (see [deadletters.ExternalOutcome]).
func (s *Table) ApplyReported(l *deadletters.Letter) {
	if !deadletters.ReportsOutcome(l) {
		return
	}
	state, why := s.Of(l.ID)
	if why != "" {
		return // no outcome applies to an unreadable state
	}
	if m := s.entries[KeyOf(l.ID)]; m.has(positioned) {
		state.DLQ = header.Position{Topic: l.DLQ.Topic, Partition: m.partition, Offset: m.offset}
	}
	if heard := deadletters.ExternalOutcome(l, state, s.maxReplays); heard != state {
		s.Set(heard)
	}
}

// KeyOf returns the key of a dead letter with this ID.
func KeyOf(id string) Key {
	sum := sha256.Sum256([]byte(id))
	return Key(sum[:16])
}

// texts stores each distinct text once. The index of "" is 0.
type texts struct {
	indexes map[string]uint32
	list    []string
}

func newTexts() texts { return texts{indexes: map[string]uint32{"": 0}, list: []string{""}} }

func (w *texts) index(text string) uint32 {
	i, ok := w.indexes[text]
	if !ok {
		i = uint32(len(w.list))
		w.indexes[text] = i
		w.list = append(w.list, text)
	}
	return i
}
