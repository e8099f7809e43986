package replay

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
)

// ErrOptions marks options that cannot be used, whatever the letters are.
var ErrOptions = errors.New("replay options")

// ErrNoReason marks a change without a reason; every change says why it was made.
var ErrNoReason = fmt.Errorf("%w: a change needs a reason", ErrOptions)

// Call says on whose behalf a call changes dead letters.
type Call struct {
	By     string       // who acts, for states and audit; "" is the user of the operating system
	Reason string       // why, in the operator's words; mandatory
	Lease  LeaseOptions // what to do when another replayer is at work
	// Operation is the id of a change besides a replay, which has that of its plan (see [Service.NewOperation]); made when empty.
	Operation string
	// GoOn returns the command that goes on with the operation when it ended before its end, for `replayer replays`; nil names none.
	// It is told how many letters are chosen.
	GoOn func(letters int) string
	// IncludingPutBack lets a reopening take letters, too, that a replay sent to a topic where nobody reports success: after it, another
	// replay sends them a second time.
	IncludingPutBack bool
}

// maxBy bounds the name of who acts, which stands in every state and audit event.
const maxBy = 256

// check returns what is wrong with the call. It marks every fault with ErrOptions.
func (c Call) check() error {
	return cmp.Or(checkActor(c.By), checkReplayID(c.Operation), checkReason(c.Reason))
}

func checkActor(by string) error {
	if len(by) > maxBy {
		return fmt.Errorf("%w: --actor has %d bytes; use at most %d", ErrOptions, len(by), maxBy)
	}
	return nil
}

// ExecuteOptions says how a plan is executed.
type ExecuteOptions struct {
	Call
	// IncludingFailing puts letters back that the dry run says will fail again; by default they are left. Of letters that go to
	// another topic the dry run says nothing, and all go.
	IncludingFailing bool
	// ForceVersion says that letters may overwrite newer data; it must be said of a plan that was made for it, and of no
	// other (see PlanOptions.Force).
	ForceVersion bool
	Program      string         // that the plan runs on each value: a plan is a file, and runs none that is not given again
	Ramp         ramp.Ramp      // in which waves, and when to stop
	Rate         float64        // letters a second; 0 is as fast as it goes
	Wait         bool           // until the consumer has finished every letter that was put back
	Patience     time.Duration  // how long to wait for the consumer while it finishes none; 0 is for ever
	Grace        time.Duration  // of a DLQ without a pipeline: how long nothing may die again before a wave counts as good
	WatchGroup   string         // of a DLQ without a pipeline: the consumer group that has to pass a wave before its grace begins; "" is none
	Progress     func(Progress) // called often, from the goroutine of Execute; may be nil
	OnSkip       func(Skip)     // called for each letter that is left as it is; may be nil
}

// What operators get who say nothing else, at the command line and in the console.
const (
	UsualPatience = 10 * time.Minute // see [ExecuteOptions].Patience
	UsualGrace    = time.Minute      // see [ExecuteOptions].Grace
	// ManyLetters is how many dead letters may be changed without being told their number (docs/decisions/0077).
	ManyLetters = 100
)

const (
	maxReason   = 1000 // bytes; the reason stands in every state and every audit event
	maxReplayID = 100
)

// check returns what is wrong with the options. It marks every fault with ErrOptions.
func (o ExecuteOptions) check() error {
	if err := o.Call.check(); err != nil {
		return err
	}
	if err := o.Ramp.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrOptions, err)
	}
	if o.Rate < 0 || o.Patience < 0 || o.Grace < 0 {
		return fmt.Errorf("%w: rate is %v, patience is %s, grace is %s: none can be negative", ErrOptions, o.Rate, o.Patience, o.Grace)
	}
	return nil
}

// Fits refuses to await the consumer's verdict on letters that go to another topic; to "" is the source.
func (o ExecuteOptions) Fits(to string) error {
	if to != "" && (o.Wait || o.Ramp.Gates()) {
		return fmt.Errorf("%w: --canary, --max-failed and --wait make no sense with --to: what becomes of dead letters that leave the pipeline is not heard of here", ErrOptions)
	}
	return nil
}

// fits is [ExecuteOptions.Fits] that knows whether there is a pipeline. Without one, letters that die again are heard of, wherever they went.
func (s *Service) fits(o ExecuteOptions, to string) error {
	switch {
	case !s.alone:
		return o.Fits(to)
	case o.Wait && o.WatchGroup == "":
		return fmt.Errorf("%w: --wait needs --watch-group here: other software does not say which dead letters it has processed; --canary looks for a while whether they die again", ErrOptions)
	}
	return nil
}

func checkReason(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return ErrNoReason
	case len(reason) > maxReason || !utf8.ValidString(reason):
		return fmt.Errorf("%w: the reason has %d bytes; use at most %d of UTF-8 text", ErrOptions, len(reason), maxReason)
	}
	return nil
}

func checkReplayID(id string) error {
	if len(id) > maxReplayID || strings.ContainsFunc(id, func(r rune) bool { return !plain(r) }) {
		return fmt.Errorf("%w: replay id %q; use at most %d letters, digits, dots, underscores and hyphens", ErrOptions, id, maxReplayID)
	}
	return nil
}

func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
}

// newID makes an id that sorts by time: "replay-20261103T040506Z-1a2b3c4d".
func newID(word string, now time.Time) string {
	var b [4]byte
	// crypto/rand.Read never fails (it ends the program instead).
	_, _ = rand.Read(b[:])
	return word + "-" + now.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(b[:])
}

// clip cuts a text for people, and shows that it did.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:max(n-len("…"), 0)], "") + "…"
}

// checkForce refuses to lift the version guard where there is none, and without a reason.
func (s *Service) checkForce(force, to string) error {
	switch {
	case force == "":
		return nil
	case s.alone:
	case s.cfg.Ordering.Mode == config.OrderingNone:
		return fmt.Errorf("%w: --force-version makes no sense with ordering.mode: none: nothing holds a dead letter to its version there", ErrOptions)
	case to != "":
		return fmt.Errorf("%w: --force-version makes no sense with --to: it is said to the consumer of this pipeline, and the dead letters leave it", ErrOptions)
	}
	return checkReason(force)
}

// checkForced refuses to apply a forced plan unless the operator who does it says so too: a plan travels as a file.
func (s *Service) checkForced(p *plan.Plan, o ExecuteOptions) error {
	switch forced := p.Force != ""; {
	case forced && !o.ForceVersion:
		return fmt.Errorf("%w: the plan overwrites newer data (--force-version, %q); say --force-version too, or make another plan", ErrOptions, p.Force)
	case !forced && o.ForceVersion:
		return fmt.Errorf("%w: the plan was made without --force-version and did not count what would be overwritten; make a new one with it", ErrOptions)
	}
	return s.checkForce(p.Force, p.To)
}
