package verify

import (
	"slices"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Bounds say which positions of the source are judged.
type Bounds struct {
	Partition int32 // -1 is every partition
	From, To  int64 // offsets; To is the first that is not meant, 0 is no end
}

func (b Bounds) holds(partition int32, offset int64) bool {
	return (b.Partition < 0 || b.Partition == partition) && offset >= b.From && (b.To == 0 || offset < b.To)
}

// Account holds what the topics say of the positions of a source topic. It is for one goroutine.
type Account struct {
	source, pipeline string
	bounds           Bounds
	shards           map[int32]*shard
	repeats          []repeat
	gaps             []gap
	// Others counts records of the output, the DLQ and the tiers that name no position of this source, or none that can be read.
	Others map[PlaceKind]int64

	broken      int64 // events of the trail that cannot be read
	firstBroken header.Position
}

// shard holds the facts of one partition.
type shard struct {
	generation Generation
	facts      pages
	waits      []waiting
	parts      map[int64]*parts
	since      map[string]int64 // by topic: from which offset on a record came after the front of it was gone
}

// Generation is that of a partition of the source: an adoption of a re-created topic, or of a lost memory, begins one.
type Generation struct {
	Now   int
	First int // in which the topic was the one that it is now: the positions of earlier ones are those of a topic that is gone
}

// NewAccount makes an empty account of a source topic with the generations of its partitions.
func NewAccount(source, pipeline string, bounds Bounds, generations map[int32]Generation) *Account {
	a := &Account{source: source, pipeline: pipeline, bounds: bounds, shards: map[int32]*shard{}, Others: map[PlaceKind]int64{}}
	for p, g := range generations {
		a.shards[p] = &shard{generation: g, parts: map[int64]*parts{}, since: map[string]int64{}}
	}
	return a
}

// fact gives the fact of a position that is judged; nil for any other one.
func (a *Account) fact(p header.Position) *fact {
	sh := a.shards[p.Partition]
	if sh == nil || p.Topic != a.source || !a.bounds.holds(p.Partition, p.Offset) {
		return nil
	}
	return sh.facts.at(p.Offset)
}

// Source takes in a record of the source.
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

// Place takes in a record of a topic behind the source.
func (a *Account) Place(p Place) {
	sh := a.shards[p.Root.Partition]
	if sh == nil || p.Root.Topic != a.source {
		a.Others[p.In]++
		return
	}
	f := a.fact(p.Root)
	if f == nil || p.Generation < sh.generation.First {
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
		sh.waits = append(sh.waits, waiting{at: p.At, root: p.Root.Offset, part: p.Part, rest: p.Rest, due: p.Due})
	case p.Edited:
	case !p.Part.Whole():
		f.flags |= split
		sh.partsOf(p.Root.Offset).add(p.In, p.Part)
	case p.In == InOutput:
		more(&f.outputs)
	case p.In == InDLQ:
		more(&f.letters)
	}
}

// Event takes in an event of the audit trail.
func (a *Account) Event(e audit.Event) {
	from, err := header.ParsePosition(e.Source)
	if err != nil || e.Pipeline != a.pipeline {
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
		f.flags |= told
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

// addGap notes a gap of which the trail tells. One without an end, or with one before its beginning, says nothing.
func (a *Account) addGap(from header.Position, last *int64) {
	sh := a.shards[from.Partition]
	former := from.Topic == a.source && sh != nil && sh.generation.First > 0 // it may be of a topic that is gone
	if last != nil && *last >= from.Offset && *last < maxOffset && !former {
		a.gaps = append(a.gaps, gap{from.Topic, from.Partition, from.Offset, *last + 1})
	}
}

// Since notes from which offset of a partition of the source on a record came after the front of a topic was gone. Records before it
// may have left a trace there that is gone too.
func (a *Account) Since(partition int32, topic string, offset int64) {
	if sh := a.shards[partition]; sh != nil && offset > 0 {
		sh.since[topic] = max(sh.since[topic], offset)
	}
}

func (sh *shard) partsOf(offset int64) *parts {
	if sh.parts[offset] == nil {
		sh.parts[offset] = &parts{own: map[int]*own{}}
	}
	return sh.parts[offset]
}
