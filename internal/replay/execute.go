package replay

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// ErrOptions marks options that cannot be used, whatever the letters are.
var ErrOptions = errors.New("replay options")

// ErrNoReason marks a replay without a reason; every change says why it was made.
var ErrNoReason = fmt.Errorf("%w: a replay needs a reason", ErrOptions)

// ExecuteOptions says how a plan is executed.
type ExecuteOptions struct {
	Reason      string // why, in the operator's words; mandatory
	ReplayID    string // names the replay in headers, states and audit; made from time and chance when empty
	OnlyPassing bool   // leave letters that today's transform would refuse again
}

const (
	maxReason   = 1000 // bytes; the reason stands in every state and every audit event
	maxReplayID = 100
)

// check returns what is wrong with the options. It marks every fault with ErrOptions.
func (o ExecuteOptions) check() error {
	switch {
	case strings.TrimSpace(o.Reason) == "":
		return ErrNoReason
	case len(o.Reason) > maxReason || !utf8.ValidString(o.Reason):
		return fmt.Errorf("%w: the reason has %d bytes; use at most %d of UTF-8 text", ErrOptions, len(o.Reason), maxReason)
	case len(o.ReplayID) > maxReplayID || strings.ContainsFunc(o.ReplayID, func(r rune) bool { return !plain(r) }):
		return fmt.Errorf("%w: replay id %q; use at most %d letters, digits, dots, underscores and hyphens", ErrOptions, o.ReplayID, maxReplayID)
	}
	return nil
}

func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
}

// Skip is a letter of the plan that was not touched.
type Skip struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// Result says what a replay did. After an error it counts what had been committed by then.
type Result struct {
	ReplayID     string `json:"replay_id"`
	Attempted    int    `json:"attempted"`    // letters of the plan
	Reinjected   int    `json:"reinjected"`   // put back into the source topic
	Duplicates   int    `json:"duplicates"`   // closed, since a letter of the same content is put back
	Skipped      []Skip `json:"skipped"`      // left as they are, each with the reason
	Transactions int    `json:"transactions"` // committed
}

// Execute puts the letters of a plan back. It looks at each again: one that changed its state
// since the plan, or whose content was put back elsewhere, is not sent. Canceling ctx stops after
// the transaction that is open; what was committed stays, the rest is still pending, and the same
// plan can be executed again. The error is [ErrFenced] when another replayer of this source topic
// started meanwhile.
func (s *Service) Execute(ctx context.Context, p *Plan, o ExecuteOptions) (Result, error) {
	if err := o.check(); err != nil {
		return Result{}, err
	}
	if p.Source != s.cfg.Source.Topic || p.DLQ != s.cfg.Topics.DLQ {
		return Result{}, fmt.Errorf("the plan is for %s from %s, this pipeline has %s and %s",
			p.Source, p.DLQ, s.cfg.Source.Topic, s.cfg.Topics.DLQ)
	}
	if o.ReplayID == "" {
		o.ReplayID = newReplayID(s.now())
	}
	result := Result{ReplayID: o.ReplayID, Attempted: len(p.Letters)}
	w, err := s.startWriter(ctx)
	if err != nil {
		return result, err
	}
	defer w.close()

	states, err := deadletters.LoadStates(ctx, s.client, s.cfg.Topics.DLQStatus)
	if err != nil {
		return result, err
	}
	r := &run{service: s, writer: w, states: states, options: o, result: &result, waiting: p.positions(), plan: p}
	err = deadletters.Scan(ctx, s.client, s.cfg.Topics.DLQ, p.spans(), func(rec *kgo.Record) error {
		return r.take(ctx, rec)
	})
	if err == nil {
		err = r.finish(ctx)
	}
	if err == nil {
		w.settle(ctx)
	}
	s.log.Info("replay ended", "replay_id", o.ReplayID, "reinjected", result.Reinjected,
		"duplicates", result.Duplicates, "skipped", len(result.Skipped), "error", err)
	return result, err
}

// run is one execution of one plan.
type run struct {
	service *Service
	writer  *writer
	states  *deadletters.States // as of the fencing, plus what this run staged
	options ExecuteOptions
	result  *Result
	plan    *Plan
	waiting map[retrytopics.Position]int // letters of the plan that were not seen yet
	batch   []staged
	bytes   int
}

// take looks at one record of the DLQ and stages what is to be done with it.
func (r *run) take(ctx context.Context, rec *kgo.Record) error {
	i, wanted := r.waiting[position(rec)]
	if !wanted {
		return nil
	}
	delete(r.waiting, position(rec))
	planned := &r.plan.Letters[i]
	letter := deadletters.Decode(rec, true)
	do, err := r.decide(planned, &letter)
	if err != nil {
		return err
	}
	if do.action == Leave {
		r.skip(planned.ID, do.why)
		return nil
	}
	if len(r.batch) > 0 && r.bytes+letter.Size > batchBytes {
		if err := r.commit(ctx); err != nil {
			return err
		}
	}
	r.batch = append(r.batch, do)
	r.bytes += letter.Size
	r.states.Set(do.next)
	if len(r.batch) >= batchLetters {
		return r.commit(ctx)
	}
	return nil
}

// finish commits what is staged and names the letters that are no longer there.
func (r *run) finish(ctx context.Context) error {
	if err := r.commit(ctx); err != nil {
		return err
	}
	for at, i := range r.waiting {
		r.skip(r.plan.Letters[i].ID, "its record "+at.String()+" is gone: retention took it")
	}
	return nil
}

// commit writes the batch in one transaction. A letter that the source topic refuses for its size
// is skipped and the rest written again without it.
func (r *run) commit(ctx context.Context) error {
	for len(r.batch) > 0 {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped with %d letters still to go: %w", len(r.waiting)+len(r.batch), err)
		}
		refused, err := r.writer.write(ctx, r.batch, false)
		if err == nil && refused != nil {
			refused, err = r.writer.write(ctx, r.batch, true) // perhaps only all of them together are too large
		}
		if err != nil {
			return err
		}
		if refused == nil {
			r.count()
			break
		}
		r.drop(refused)
	}
	r.batch, r.bytes = r.batch[:0], 0
	return nil
}

func (r *run) count() {
	r.result.Transactions++
	for _, d := range r.batch {
		if d.action == Reinject {
			r.result.Reinjected++
		} else {
			r.result.Duplicates++
		}
	}
	r.service.log.Info("replay transaction committed", "replay_id", r.options.ReplayID,
		"letters", len(r.batch), "reinjected", r.result.Reinjected, "duplicates", r.result.Duplicates)
}

// drop takes a refused letter out of the batch, and the duplicates that it would have stood for.
func (r *run) drop(refused *staged) {
	why := "the source topic refuses it: with the headers of a replay it is larger than the topic's max.message.bytes"
	var rest []staged
	for i := range r.batch {
		d := r.batch[i]
		if d.letter.ContentHash != refused.letter.ContentHash {
			rest = append(rest, d)
			continue
		}
		r.states.Set(d.prev)
		r.skip(d.letter.ID, why)
	}
	r.batch = rest
}

func (r *run) skip(id, why string) {
	r.result.Skipped = append(r.result.Skipped, Skip{ID: id, Why: why})
}

// newReplayID makes an id that sorts by time: "replay-20261103T040506Z-1a2b3c4d".
func newReplayID(now time.Time) string {
	var b [4]byte
	// crypto/rand.Read never fails (it ends the program instead).
	_, _ = rand.Read(b[:])
	return "replay-" + now.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(b[:])
}
