package replay

import (
	"time"

	"github.com/switchback-geo/switchback/internal/control"
)

// leaseVerdict is what a replayer does about the lease that it has read. It is a closed list.
type leaseVerdict uint8

const (
	leaseWait   leaseVerdict = iota // another replayer may be at work: read the lease again
	leaseTake                       // no other replayer is at work: sign the lease
	leaseRefuse                     // another replayer is at work, or took the lease from this one: write nothing
)

// leasePhase is how far a replayer is with its lease.
type leasePhase uint8

const (
	leaseWatched leasePhase = iota // another replayer may be at work
	leaseGranted                   // none was: this replayer fences all others, then signs
	leaseHeld                      // signed by this replayer
)

// leaseState decides about a lease. It reads no topic and no clock, and compares no clock with another machine's: a lease is alive when
// its time of renewal changes while it is watched (docs/decisions/0002).
type leaseState struct {
	token    string        // of this replayer's lease
	life     time.Duration // without a renewal, after which a lease is nobody's
	takeOver bool          // end the replayer that is at work; once, since who takes over from this one does so on purpose
	wait     time.Duration // for another replayer to end
	began    time.Time     // to wait

	phase leasePhase
	other *control.Lease // another replayer's, as it was read last; once granted, the one that is passed over
	since time.Time      // other is unchanged since then
	alive bool           // other was renewed while it was watched
}

// restart begins a session. A lease that was granted and not signed is asked for again.
func (s *leaseState) restart() {
	if s.phase == leaseGranted {
		s.phase = leaseWatched
	}
	s.other, s.alive = nil, false
}

// observe decides about the lease l that was read at a time; nil is none.
func (s *leaseState) observe(l *control.Lease, now time.Time) leaseVerdict {
	switch s.phase {
	case leaseHeld:
		if s.isOthers(l) { // also when that replayer has ended: it changed dead letters behind this one's back
			return leaseRefuse
		}
		return leaseTake
	case leaseGranted:
		if !s.isOthers(l) || l.Released || s.other != nil && s.other.Token == l.Token {
			return leaseTake
		}
		return leaseRefuse // it was signed between the look and the fence: that replayer goes on
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

// waits reports whether another replayer that is at work is waited for.
func (s *leaseState) waits(now time.Time) bool { return now.Sub(s.began) < s.wait }

func (s *leaseState) grant(over *control.Lease) leaseVerdict {
	s.phase, s.other = leaseGranted, over
	return leaseTake
}

// signed notes that this replayer's lease was written.
func (s *leaseState) signed() { s.phase, s.takeOver = leaseHeld, false }

func (s *leaseState) isOthers(l *control.Lease) bool { return l != nil && l.Token != s.token }
