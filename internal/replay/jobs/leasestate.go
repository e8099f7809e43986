package jobs

import (
	"time"

	"github.com/switchback-geo/switchback/internal/control"
)

// leaseVerdict is the decision of a replayer about the lease that it has read. It is a closed list.
type leaseVerdict uint8

const (
	leaseWait   leaseVerdict = iota // another replayer may be running: read the lease again
	leaseTake                       // no other replayer is running: write the lease
	leaseRefuse                     // another replayer is running, or took the lease from this one: write nothing
)

// leasePhase is the progress of a replayer with its lease.
type leasePhase uint8

const (
	leaseWatched leasePhase = iota // another replayer may be running
	leaseGranted                   // no other replayer is running: this one fences all others, then writes the lease
	leaseHeld                      // this replayer has written the lease
)

// leaseState decides about a lease. It reads no topic and no clock, and never compares the clocks of two machines: a
// lease is alive if its renewal time changes while this replayer watches it (docs/decisions/0002).
type leaseState struct {
	token    string        // of the lease of this replayer
	life     time.Duration // time without a renewal after which a lease has expired
	takeOver bool          // end the running replayer, at most once: a replayer that then takes over from this one does so on purpose
	wait     time.Duration // how long to wait for the other replayer to end
	began    time.Time     // when the wait began

	phase leasePhase
	other *control.Lease // last lease of another replayer that was read; in phase leaseGranted, the lease to overwrite
	since time.Time      // when other last changed
	alive bool           // other was renewed while this replayer watched it
}

// restart begins a session. A granted lease that was not written is awaited again.
func (s *leaseState) restart() {
	if s.phase == leaseGranted {
		s.phase = leaseWatched
	}
	s.other, s.alive = nil, false
}

// observe decides about the lease l that was read at time now. A nil lease means that there is none.
func (s *leaseState) observe(l *control.Lease, now time.Time) leaseVerdict {
	switch s.phase {
	case leaseHeld:
		if s.isOthers(l) { // also if that replayer has ended: it changed dead letters after this one read their states
			return leaseRefuse
		}
		return leaseTake
	case leaseGranted:
		if !s.isOthers(l) || l.Released || s.other != nil && s.other.Token == l.Token {
			return leaseTake
		}
		return leaseRefuse // another replayer wrote its lease between the look and the fence, and continues
	case leaseWatched:
	}
	if !s.isOthers(l) || l.Released || s.takeOver {
		return s.grant(l)
	}
	switch {
	case s.other == nil || l.Token != s.other.Token:
		s.other, s.since, s.alive = l, now, false
	case !l.Renewed.Equal(s.other.Renewed):
		s.other, s.since, s.alive = l, now, true
	case now.Sub(s.since) > s.life:
		return s.grant(l)
	}
	if s.alive && !s.waits(now) {
		return leaseRefuse
	}
	return leaseWait
}

// waits reports whether the wait for the other replayer has not ended.
func (s *leaseState) waits(now time.Time) bool { return now.Sub(s.began) < s.wait }

func (s *leaseState) grant(over *control.Lease) leaseVerdict {
	s.phase, s.other = leaseGranted, over
	return leaseTake
}

// signed notes that the lease of this replayer was written.
func (s *leaseState) signed() { s.phase, s.takeOver = leaseHeld, false }

func (s *leaseState) isOthers(l *control.Lease) bool { return l != nil && l.Token != s.token }
