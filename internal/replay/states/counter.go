package states

import (
	"context"
	"maps"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// Counter counts the outcomes of one replay: the consumer's from the status topic, and failures in other software
// from the DLQ.
type Counter struct {
	reader   *Reader
	replayID string
	from     map[int32]int64 // next offsets of the status topic
	Counts   Counts
	finished map[Key]deadletters.Last // dead letters that are in counts
	Foreign  ForeignLetters
}

// ForeignLetters tracks the replayed dead letters of other software, which reports failures only.
type ForeignLetters struct {
	Sent     int             // dead letters put back
	finished int             // of these, the ones that are in the counts
	Since    time.Time       // reports of failures lie in the DLQ from this time on
	Next     map[int32]int64 // offsets of the DLQ; nil before the first read
}

// Open returns the number of dead letters of other software without a known outcome.
func (o *ForeignLetters) Open() int { return max(o.Sent-o.finished, 0) }

// Count returns a counter of the outcomes of a replay from the given offsets of the status topic on.
func (r *Reader) Count(replayID string, from map[int32]int64) *Counter {
	return &Counter{
		reader: r, replayID: replayID, from: maps.Clone(from), Counts: Counts{Reasons: map[string]int{}}, finished: map[Key]deadletters.Last{},
		Foreign: ForeignLetters{Since: r.Now()},
	}
}

// Poll reads the new outcomes.
func (o *Counter) Poll(ctx context.Context) error {
	spans, err := o.reader.Store.StatusSpans(ctx)
	if err != nil {
		return err
	}
	err = o.reader.follow(ctx, spans, o.from, func(r *deadletters.StateRecord) {
		if r.Err == nil && r.State.ReplayID == o.replayID && r.State.Writer == deadletters.Consumer {
			o.take(r.State)
		}
	})
	if err != nil || o.Foreign.Sent == 0 {
		return err
	}
	o.Foreign.Next, err = o.reader.Failures(ctx, o.replayID, o.Foreign.Next, o.Foreign.Since, func(l *deadletters.Letter) {
		o.take(deadletters.ExternalOutcome(l, deadletters.State{ID: l.ID, Status: deadletters.Replaying, ReplayID: o.replayID}, o.reader.DeadLetters.MaxReplays))
	})
	return err
}

// take counts the outcome of a dead letter once. A failure in other software replaces an outcome of the consumer.
func (o *Counter) take(state deadletters.State) {
	key := KeyOf(state.ID)
	before, counted := o.finished[key]
	switch was := outcomeOf(before, false); {
	case !deadletters.OfOtherSoftware(state.ID):
		if !state.IsOutcome() || before.Follow(state, true) != deadletters.Applies {
			return
		}
	case !counted:
		o.Foreign.finished++
	case was == failedAgain || was == failedOften:
		return
	default:
		o.Counts.add(was, "", -1)
	}
	o.finished[key] = deadletters.LastOf(state)
	o.Counts.add(outcomeOf(o.finished[key], false), state.Reason, 1)
}

// Total returns the counts, for the given number of dead letters that were put back.
func (o *Counter) Total(sent int) Counts {
	out := o.Counts
	out.Reasons = maps.Clone(out.Reasons)
	out.UnderWay = max(sent-out.Finished(), 0)
	return out
}
