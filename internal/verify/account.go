package verify

import (
	"slices"
	"time"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Bounds select the source positions to judge.
type Bounds struct {
	Partition int32 // -1 is every partition
	From, To  int64 // offsets; To is exclusive, 0 is no end
}

func (b Bounds) holds(partition int32, offset int64) bool {
	return (b.Partition < 0 || b.Partition == partition) && offset >= b.From && (b.To == 0 || offset < b.To)
}

// Account has the evidence of the topics about the positions of a source topic. It is used by one goroutine.
type Account struct {
	source, pipeline string
	bounds           Bounds
	partitions       map[int32]*partition
	repeats          []repeat
	gaps             []gap
	// Others counts records of the output, the DLQ and the tiers that name no position of this source, or an unreadable
	// one.
	Others map[PlaceKind]int64

	broken      int64 // unreadable events of the trail
	firstBroken header.Position
}

// partition holds the facts of one partition of the source.
type partition struct {
	generation Generation
	facts      pages
	waits      []waiting
	parts      map[int64]*parts
	since      map[string]int64 // by topic: the first offset whose record arrived after the topic's lost front
}

// Generation is the generation of a partition of the source. Each adoption of a re-created topic, or of a lost
// memory, starts one.
type Generation struct {
	Now   int
	First int // the first with the current topic: positions of earlier ones belong to a deleted topic
}

// NewAccount returns an empty account of a source topic with the generations of its partitions.
func NewAccount(source, pipeline string, bounds Bounds, generations map[int32]Generation) *Account {
	a := &Account{source: source, pipeline: pipeline, bounds: bounds, partitions: map[int32]*partition{}, Others: map[PlaceKind]int64{}}
	for p, g := range generations {
		a.partitions[p] = &partition{generation: g, parts: map[int64]*parts{}, since: map[string]int64{}}
	}
	return a
}

// fact returns the fact of a judged position; nil for any other one.
func (a *Account) fact(p header.Position) *fact {
	pt := a.partitions[p.Partition]
	if pt == nil || p.Topic != a.source || !a.bounds.holds(p.Partition, p.Offset) {
		return nil
	}
	return pt.facts.at(p.Offset)
}

// Source adds a record of the source.
func (a *Account) Source(r Appearance) {
	if r.Claim != nil {
		a.repeats = append(a.repeats, repeat{r.At, *r.Claim})
	}
	f := a.fact(r.At)
	if f == nil {
		return
	}
	f.flags |= present
	if r.Unread {
		f.flags |= unread
	}
	if r.Claim != nil && !r.Claim.Doubtful {
		f.flags |= replay
	}
}

// Place adds a record of a topic after the source.
func (a *Account) Place(p Place) {
	pt := a.partitions[p.Root.Partition]
	if pt == nil || p.Root.Topic != a.source {
		a.Others[p.In]++
		return
	}
	f := a.fact(p.Root)
	if f == nil || p.Generation < pt.generation.First {
		return
	}
	if p.Pipeline != a.pipeline {
		f.flags |= others
		return
	}
	if p.Rest {
		f.flags |= rest
	}
	switch {
	case p.In == InTier:
		pt.waits = append(pt.waits, waiting{at: p.At, root: p.Root.Offset, part: p.Part, rest: p.Rest, due: p.Due})
	case p.Edited:
	case !p.Part.Whole():
		f.flags |= split
		pt.partsOf(p.Root.Offset).add(p.In, p.Part)
	case p.In == InOutput:
		more(&f.outputs)
	case p.In == InDLQ:
		more(&f.deadLetters)
	}
}

// Event adds an event of the audit trail.
func (a *Account) Event(e audit.Event) {
	from, err := header.ParsePosition(e.Source)
	if err != nil {
		return
	}
	if e.Pipeline != a.pipeline {
		if e.Part == "" {
			a.closedByAnother(from, e.Decision)
		}
		return
	}
	if e.Decision == audit.Lost {
		a.addGap(from, e.LastOffset)
		return
	}
	f := a.fact(from)
	if f == nil || e.Part != "" {
		if f != nil {
			f.flags |= split
		}
		return
	}
	switch e.Decision {
	case audit.Delivered:
		f.flags |= deliveryAudited
	case audit.Retried:
		f.flags |= tried
	case audit.DeadLettered:
		f.flags |= tried
		more(&f.died)
	case audit.Replayed:
		more(&f.replayed)
	default:
		if i := slices.Index(closings(), e.Decision); i >= 0 {
			more(&f.closed)
			f.last = uint8(i + 1) //nolint:gosec // of a short list
		}
	}
}

// closedByAnother marks a position that the trail of another pipeline ID closed: that record is in no topic.
func (a *Account) closedByAnother(from header.Position, decision audit.Decision) {
	if f := a.fact(from); f != nil && slices.Contains(closings(), decision) {
		f.closedElsewhere = true
	}
}

// addGap adds a gap from the trail. One without an end, or with an end before its beginning, is ignored.
func (a *Account) addGap(from header.Position, last *int64) {
	pt := a.partitions[from.Partition]
	former := from.Topic == a.source && pt != nil && pt.generation.First > 0 // it may be of a deleted topic
	if last != nil && *last >= from.Offset && *last < maxOffset && !former {
		a.gaps = append(a.gaps, gap{from.Topic, from.Partition, from.Offset, *last + 1})
	}
}

// Since sets the first source offset of records that arrived after the lost front of a topic. Traces of earlier
// records may be lost too.
func (a *Account) Since(partition int32, topic string, offset int64) {
	if pt := a.partitions[partition]; pt != nil && offset > 0 {
		pt.since[topic] = max(pt.since[topic], offset)
	}
}

func (pt *partition) partsOf(offset int64) *parts {
	if pt.parts[offset] == nil {
		pt.parts[offset] = &parts{own: map[int]*own{}}
	}
	return pt.parts[offset]
}

// Appearance is a record of the source topic.
type Appearance struct {
	At    header.Position
	Time  time.Time // of the record
	Claim *Claim    // of a replay; nil for any other record
	// Unread means that only the record's position is known.
	Unread bool
}

// Claim is the record that a replay claims to repeat.
type Claim struct {
	Root       header.Position
	Generation int
	Part       header.Part
	Doubtful   bool // its proof names a key that the pipeline no longer has, so it may or may not be a replay
}

// Place is the place of a source record, according to a record of a topic after the source.
type Place struct {
	In         PlaceKind
	At         header.Position // position of that record
	Root       header.Position // position in the source
	Generation int             // of the source
	Pipeline   string          // its writer
	Part       header.Part
	Rest       bool      // only some of its parts
	Edited     bool      // an operator edited the dead letter; this is its current form
	Due        time.Time // in a tier
}

// PlaceKind is the kind of a topic after the source. It is a closed list (see PlaceKinds).
type PlaceKind string

// The kinds of topics.
const (
	InOutput PlaceKind = "output"
	InDLQ    PlaceKind = "DLQ"
	InTier   PlaceKind = "tier"
)

// PlaceKinds lists every kind.
func PlaceKinds() []PlaceKind { return []PlaceKind{InOutput, InDLQ, InTier} }

// closings are the decisions that end a record without a trace in output and DLQ. A fact counts them from 1.
func closings() []audit.Decision {
	return []audit.Decision{audit.Duplicate, audit.Superseded, audit.Filtered, audit.Skipped}
}

// waiting is a record of a tier.
type waiting struct {
	at   header.Position
	root int64
	part header.Part
	rest bool
	due  time.Time
}

// repeat is a record of the source that is a replay.
type repeat struct {
	at    header.Position
	claim Claim
}

// gap is a run of offsets that were deleted before the group had finished them.
type gap struct {
	topic     string
	partition int32
	from, to  int64 // to is exclusive
}

// parts is the evidence about the parts of one record: a bit for each delivered part, and details of the parts with
// their own dead letters.
type parts struct {
	delivered []uint64
	own       map[int]*own // by index
	outputs   int          // parts in the output, each counted once
}

// own is a part with a place of its own.
type own struct{ outputs, deadLetters, replays, open, moving int }

// add adds a record of the output or the DLQ that is of a part.
func (p *parts) add(in PlaceKind, part header.Part) {
	if in == InDLQ {
		p.of(part.Index).deadLetters++
		return
	}
	if part.Index >= header.MaxParts {
		return
	}
	word, bit := part.Index/64, uint64(1)<<(part.Index%64)
	for len(p.delivered) <= word {
		p.delivered = append(p.delivered, 0)
	}
	if p.delivered[word]&bit != 0 {
		p.of(part.Index).outputs++ // after the first one
		return
	}
	p.delivered[word] |= bit
	p.outputs++
}

func (p *parts) of(index int) *own {
	if p.own[index] == nil {
		p.own[index] = &own{}
	}
	return p.own[index]
}

// has reports whether a part is in the output.
func (p *parts) has(index int) bool {
	return index/64 < len(p.delivered) && p.delivered[index/64]&(1<<(index%64)) != 0
}

const maxOffset = 1<<63 - 1
