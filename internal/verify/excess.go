package verify

import (
	"fmt"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

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

// kindOf returns the meaning of too many places. Being closed twice, or read twice, has no effect by itself.
func kindOf(s sum) Kind {
	switch {
	case s.outputs+s.letters+s.waits <= s.lives && s.waits == 0:
		return ReadAgain
	case s.waits > 0:
		return StillWaiting
	case s.outputs > 0 && s.letters > 0:
		return DeliveredAndDead
	case s.outputs > 1:
		return Duplicated
	}
	return DeadTwice
}

// String lists the record's places.
func (s sum) String() string {
	text := fmt.Sprintf("output %d, DLQ %d, closed %d, waiting %d, not read yet %d", s.outputs, s.letters, s.closed, s.waits, s.unread)
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

// dead reports whether a part has a dead letter of its own.
func (p *parts) dead() bool {
	for _, o := range p.own {
		if o.letters > 0 {
			return true
		}
	}
	return false
}

// parts judges the parts of a record with more than one trace: each must have one place.
func (j *judge) parts(sh *shard, at header.Position, split *parts) {
	for index, o := range split.own {
		delivered := o.outputs
		if split.has(index) {
			delivered++
		}
		total := delivered + o.letters + o.open
		lives := 1 + o.replays
		var kind Kind
		switch {
		case total > lives && delivered > 0 && o.letters > 0:
			kind = DeliveredAndDead
		case total > lives && delivered > 0 && !j.cut.AtLeastOnce:
			kind = Duplicated
		case total > lives && o.letters > 0:
			kind = DeadTwice
		case total+o.moving < lives && at.Offset >= sh.since[j.cut.DLQ] && at.Offset >= sh.since[j.cut.Output]:
			kind = Missing
		default:
			continue
		}
		j.found(Finding{Kind: kind, Source: at.String(), Part: fmt.Sprint(index), Detail: fmt.Sprintf("output %d, DLQ %d, not read yet %d, replayed %d times", delivered, o.letters, o.open, o.replays)})
	}
}
