package verify

import (
	"fmt"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// sum is the account of one record. The record, and each of its replays, has one end or one waiting place.
type sum struct {
	lives, outputs, deadLetters, closed int
	unread, waits                       int // places where it waits
	moves                               int // places that it left while the topics were read
}

func (s sum) ends() int  { return s.outputs + s.deadLetters + s.closed }
func (s sum) total() int { return s.ends() + s.unread + s.waits }
func (s sum) lacks() int { return s.lives - s.total() }

// position judges one source position.
func (j *judge) position(pt *partition, at header.Position, f fact, mark Mark, counts *Counts) {
	x := j.also[at.Partition][at.Offset]
	if x == nil {
		x = &extra{}
	}
	split := pt.parts[at.Offset]
	if split != nil && !x.alias {
		j.parts(pt, at, split)
	}
	s := j.sum(pt, at, f, x, split, mark)
	switch {
	case x.alias:
	case !f.has(present):
		j.absent(pt, at, f, s, mark)
	case j.cut.Foreign:
		counts.Records++
		counts.Unknown++
		j.cannot(j.source, Recreated, at, 1)
	default:
		counts.Records++
		j.present(pt, at, f, x, s, split, counts)
	}
}

func (j *judge) sum(pt *partition, at header.Position, f fact, x *extra, split *parts, mark Mark) sum {
	s := sum{
		lives: 1 + x.replays, outputs: int(f.outputs), deadLetters: int(f.deadLetters), closed: int(f.closed),
		unread: x.unread, waits: x.waits, moves: x.moves + x.arriving,
	}
	if split != nil && split.outputs > 0 {
		s.outputs++
	}
	if at.Offset < pt.since[j.cut.DLQ] {
		s.deadLetters = max(s.deadLetters, int(f.died))
	}
	if s.outputs == 0 && f.has(deliveryAudited) && at.Offset < pt.since[j.cut.Output] {
		s.outputs = 1
	}
	if pt.generation.First > 0 { // the trail does not name the topic's generation
		s.closed = min(s.closed, max(s.lives-s.outputs-s.deadLetters, 0))
	}
	if !f.has(present) {
		s.lives = max(s.lives, 1+int(f.replayed))
		return s
	}
	switch mark.stage(at.Offset) {
	case open:
		s.unread++
	case moving:
		s.moves++
	case done:
	}
	return s
}

// present judges a record that is in the source.
func (j *judge) present(pt *partition, at header.Position, f fact, x *extra, s sum, split *parts, counts *Counts) {
	lacks := s.lacks()
	if lacks > 0 && split != nil && split.dead() {
		lacks = 0 // all of its parts have their own dead letters
	}
	switch {
	case lacks > s.moves:
		j.lacking(pt, at, f, x, s, counts)
		return
	case lacks > 0:
		counts.InFlight++
		return
	case lacks < 0:
		j.excess(at, f, x, s, split)
	}
	counts.place(f, s)
	if pt.generation.First > 0 && s.closed > 0 && s.outputs+s.deadLetters < s.lives {
		j.cannot(j.cut.Audit, Recreated, at, 0)
	}
}

// place counts the place of a record.
func (c *Counts) place(f fact, s sum) {
	switch {
	case s.unread > 0:
		c.Unread++
	case s.waits > 0:
		c.Waiting++
	case s.deadLetters > s.lives-1:
		c.DeadLettered++
	case s.outputs > 0:
		c.Delivered++
	case s.closed > 0:
		switch closings()[f.last-1] {
		case audit.Duplicate:
			c.Duplicates++
		case audit.Superseded:
			c.Superseded++
		default:
			c.Filtered++
		}
	default: // its parts have their own dead letters
		c.DeadLettered++
	}
}

// lacking judges a record in too few places.
func (j *judge) lacking(pt *partition, at header.Position, f fact, x *extra, s sum, counts *Counts) {
	if topic, why, hidden := j.hidden(pt, at, f, x); hidden {
		counts.Unknown++
		j.cannot(topic, why, at, 1)
		return
	}
	counts.Missing++
	detail := "the group has finished it, but it is in no topic"
	switch {
	case f.has(tried) && f.died == 0:
		detail = "an attempt failed, but it neither waits in a tier nor has an outcome"
	case f.has(deliveryAudited):
		detail = "the audit trail has its delivery, but it is not in the output"
	case s.lives > 1:
		detail = fmt.Sprintf("it was replayed %d times, but one replay has no outcome", s.lives-1)
	}
	j.found(Finding{Kind: Missing, Source: at.String(), Detail: detail})
}

// hidden returns why a record that was not found may still have an end, and in which topic.
func (j *judge) hidden(pt *partition, at header.Position, f fact, x *extra) (topic string, why Reason, hidden bool) {
	switch {
	case f.has(others):
		return j.cut.Output, Renamed, true
	case f.closedElsewhere && !f.has(tried|deliveryAudited) && f.replayed == 0: // else this pipeline took it
		return j.cut.Audit, Renamed, true
	case x.doubtful > 0:
		return j.source, KeyUnknown, true
	case pt.generation.First > 0 && (f.closed > 0 || f.has(tried|deliveryAudited)):
		return j.cut.Audit, Recreated, true
	case f.has(tried) && !j.cut.Compacted[j.cut.Audit]:
		return "", "", false // an attempted record has its end in the audit topic, whatever else is lost
	}
	if j.broken > 0 {
		return j.cut.Audit, Unreadable, true
	}
	for _, topic := range []string{j.cut.Output, j.cut.DLQ, j.cut.Audit} {
		if at.Offset >= pt.since[topic] {
			continue
		}
		if j.cut.Compacted[topic] {
			return topic, Compaction, true
		}
		return topic, Retention, true
	}
	return "", "", false
}

// absent judges a position without a record in the source. If the record is lost, only traces that its loss cannot
// explain count. The end of the source is read after those of the other topics, so no record of the pipeline names a
// position beyond it, unless the log was truncated.
func (j *judge) absent(pt *partition, at header.Position, f fact, s sum, mark Mark) {
	gone := at.Offset < mark.Start || j.cut.Compacted[j.source]
	named := s.outputs+s.deadLetters+s.waits > 0
	switch {
	case j.cut.Foreign || pt.generation.First > 0 || f.has(others) || at.Offset >= mark.End && mark.stage(at.Offset) != open:
	case !gone && named:
		j.found(Finding{Kind: Unfounded, Source: at.String(), Detail: fmt.Sprintf("%d outputs, %d dead letters and %d waiting records name it", s.outputs, s.deadLetters, s.waits)})
	case gone && s.outputs > s.lives && s.deadLetters == 0 && !j.cut.AtLeastOnce:
		j.found(Finding{Kind: Duplicated, Source: at.String(), Detail: fmt.Sprintf("it is in the output %d times; the source no longer contains it", s.outputs)})
	case gone && f.has(tried) && s.total()+s.moves == 0 && !f.has(deliveryAudited) && at.Offset >= pt.since[j.cut.DLQ]:
		j.found(Finding{Kind: Missing, Source: at.String(), Detail: "an attempt failed, but it neither waits in a tier nor has an outcome; the source no longer contains it"})
	}
}

// excess judges a record in too many places.
func (j *judge) excess(at header.Position, f fact, x *extra, s sum, split *parts) {
	over := -s.lacks()
	partly := split != nil && split.outputs > 0 && f.has(rest)
	if partly {
		over-- // some of its parts are in the output, and the others are elsewhere
	}
	if over <= 0 || f.has(others) {
		return
	}
	if x.doubtful >= over {
		j.cannot(j.source, KeyUnknown, at, 0)
		return
	}
	kind := kindOf(s)
	if kind == Duplicated && j.cut.AtLeastOnce {
		kind = ReadAgain
	}
	j.found(Finding{Kind: kind, Source: at.String(), Detail: s.String()})
}

// kindOf returns the meaning of too many places. Being closed twice, or read twice, has no effect on its own.
func kindOf(s sum) Kind {
	switch {
	case s.outputs+s.deadLetters+s.waits <= s.lives && s.waits == 0:
		return ReadAgain
	case s.waits > 0:
		return StillWaiting
	case s.outputs > 0 && s.deadLetters > 0:
		return DeliveredAndDead
	case s.outputs > 1:
		return Duplicated
	}
	return DeadTwice
}

// String lists the record's places.
func (s sum) String() string {
	text := fmt.Sprintf("output %d, DLQ %d, closed %d, waiting %d, not read yet %d", s.outputs, s.deadLetters, s.closed, s.waits, s.unread)
	if s.lives > 1 {
		text += fmt.Sprintf("; replayed %d times", s.lives-1)
	}
	return text
}

// reset clears the result of an earlier cut.
func (p *parts) reset() {
	for _, o := range p.own {
		o.replays, o.open, o.moving = 0, 0, 0
	}
}

func (o *own) note(at stage) {
	switch at {
	case open:
		o.open++
	case moving:
		o.moving++
	case done:
	}
}

// dead reports whether a part has its own dead letter.
func (p *parts) dead() bool {
	for _, o := range p.own {
		if o.deadLetters > 0 {
			return true
		}
	}
	return false
}

// parts judges the parts of a record with more than one trace: each must have one place.
func (j *judge) parts(pt *partition, at header.Position, split *parts) {
	for index, o := range split.own {
		delivered := o.outputs
		if split.has(index) {
			delivered++
		}
		total := delivered + o.deadLetters + o.open
		lives := 1 + o.replays
		var kind Kind
		switch {
		case total > lives && delivered > 0 && o.deadLetters > 0:
			kind = DeliveredAndDead
		case total > lives && delivered > 0 && !j.cut.AtLeastOnce:
			kind = Duplicated
		case total > lives && o.deadLetters > 0:
			kind = DeadTwice
		case total+o.moving < lives && at.Offset >= pt.since[j.cut.DLQ] && at.Offset >= pt.since[j.cut.Output]:
			kind = Missing
		default:
			continue
		}
		j.found(Finding{Kind: kind, Source: at.String(), Part: fmt.Sprint(index), Detail: fmt.Sprintf("output %d, DLQ %d, not read yet %d, replayed %d times", delivered, o.deadLetters, o.open, o.replays)})
	}
}
