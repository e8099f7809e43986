package replay

import (
	"context"
	"maps"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// outcomes counts the outcomes of one replay: the consumer's from the status topic, and failures in other software
// from the DLQ.
type outcomes struct {
	reader   *Reader
	replayID string
	from     map[int32]int64 // next offsets of the status topic
	counts   Outcome
	finished map[idKey]deadletters.Last // dead letters that are in counts
	others   others
}

// others tracks the replayed dead letters of other software, which reports failures only.
type others struct {
	sent     int             // dead letters put back
	finished int             // of these, the ones that are in the counts
	since    time.Time       // reports of failures lie in the DLQ from this time on
	next     map[int32]int64 // offsets of the DLQ; nil before the first read
}

// open returns the number of dead letters of other software without a known outcome.
func (o *others) open() int { return max(o.sent-o.finished, 0) }

// Outcomes returns the outcomes of a replay from the given offsets of the status topic on.
func (r *Reader) Outcomes(replayID string, from map[int32]int64) *outcomes {
	return &outcomes{
		reader: r, replayID: replayID, from: maps.Clone(from), counts: Outcome{Reasons: map[string]int{}}, finished: map[idKey]deadletters.Last{},
		others: others{since: r.Now()},
	}
}

// poll reads the new outcomes.
func (o *outcomes) poll(ctx context.Context) error {
	spans, err := o.reader.Store.StatusSpans(ctx)
	if err != nil {
		return err
	}
	err = o.reader.follow(ctx, spans, o.from, func(r *deadletters.StateRecord) {
		if r.Err == nil && r.State.ReplayID == o.replayID && r.State.Writer == deadletters.Consumer {
			o.take(r.State)
		}
	})
	if err != nil || o.others.sent == 0 {
		return err
	}
	o.others.next, err = o.reader.Failures(ctx, o.replayID, o.others.next, o.others.since, func(l *deadletters.Letter) {
		o.take(deadletters.ExternalOutcome(l, deadletters.State{ID: l.ID, Status: deadletters.Replaying, ReplayID: o.replayID}, o.reader.DeadLetters.MaxReplays))
	})
	return err
}

// take counts the outcome of a dead letter once. A failure in other software replaces an outcome of the consumer.
func (o *outcomes) take(state deadletters.State) {
	key := keyOf(state.ID)
	before, counted := o.finished[key]
	switch was := fateOf(before, false); {
	case !deadletters.OfOtherSoftware(state.ID):
		if !state.IsOutcome() || before.Follow(state, true) != deadletters.Applies {
			return
		}
	case !counted:
		o.others.finished++
	case was == fateFailedAgain || was == fateFailedOften:
		return
	default:
		o.counts.add(was, "", -1)
	}
	o.finished[key] = deadletters.LastOf(state)
	o.counts.add(fateOf(o.finished[key], false), state.Reason, 1)
}

// outcome returns the counts, for the given number of dead letters that were put back.
func (o *outcomes) outcome(sent int) Outcome {
	out := o.counts
	out.Reasons = maps.Clone(out.Reasons)
	out.UnderWay = max(sent-out.Finished(), 0)
	return out
}
