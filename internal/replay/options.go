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

// ErrOptions marks invalid options, whatever the dead letters are.
var ErrOptions = errors.New("replay options")

// ErrNoReason marks a change without a reason. Every change needs one.
var ErrNoReason = fmt.Errorf("%w: a change needs a reason", ErrOptions)

// Call describes who changes dead letters and why.
type Call struct {
	By     string       // operator named in states and audit; "" is the user of the operating system
	Reason string       // why, in the operator's words; required
	Lease  LeaseOptions // what to do if another replayer is running
	// Operation is the ID of a change (see [Service.NewOperation]); an empty one is generated. A replay uses the ID
	// of its plan instead.
	Operation string
	// GoOn returns the command that continues the operation if it stops early, for `replayer replays`. Its argument
	// is the number of chosen dead letters. A nil GoOn returns none.
	GoOn func(letters int) string
	// IncludingPutBack allows a reopening to select dead letters that a replay sent to a topic whose readers report
	// no success. Another replay would send them a second time.
	IncludingPutBack bool
}

// maxBy bounds the operator's name in bytes. Every state and audit event contains it.
const maxBy = 256

// check returns an error that wraps ErrOptions if the call is invalid.
func (c Call) check() error {
	return cmp.Or(checkActor(c.By), checkReplayID(c.Operation), checkReason(c.Reason))
}

func checkActor(by string) error {
	if len(by) > maxBy {
		return fmt.Errorf("%w: --actor has %d bytes; use at most %d", ErrOptions, len(by), maxBy)
	}
	return nil
}

// ExecuteOptions describes how a plan is executed.
type ExecuteOptions struct {
	Call
	// IncludingFailing puts back the dead letters that the dry run expects to fail again. By default they are left.
	// The dry run does not judge dead letters that go to another topic, so all of these go back.
	IncludingFailing bool
	// ForceVersion allows dead letters to overwrite newer data. It must be set if, and only if, the plan was made
	// with PlanOptions.Force.
	ForceVersion bool
	Program      string         // program that the plan runs on each value. A plan can come from elsewhere, so it runs only a program that the operator repeats
	Ramp         ramp.Ramp      // sizes of the waves, and when to stop
	Rate         float64        // dead letters a second; 0 is no limit
	Wait         bool           // until the consumer has finished every dead letter that was put back
	Patience     time.Duration  // how long to wait while the consumer finishes nothing; 0 is forever
	Grace        time.Duration  // for a DLQ without a pipeline: how long nothing may die again before a wave has passed
	WatchGroup   string         // for a DLQ without a pipeline: consumer group that must pass a wave before its grace begins; "" is none
	Progress     func(Progress) // called often, from the goroutine of Execute; may be nil
	OnSkip       func(Skip)     // called for each dead letter that is left unchanged; may be nil
}

// Defaults of the command line and the console.
const (
	UsualPatience = 10 * time.Minute // see [ExecuteOptions].Patience
	UsualGrace    = time.Minute      // see [ExecuteOptions].Grace
	// ManyLetters is the number of dead letters above which an operator must confirm the number
	// (docs/decisions/0077).
	ManyLetters = 100
)

const (
	maxReason   = 1000 // bytes; every state and every audit event contains the reason
	maxReplayID = 100
)

// check returns an error that wraps ErrOptions if the options are invalid.
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

// Fits returns an error if the options wait for outcomes that nobody reports. An empty to is the source topic. Without a
// pipeline (alone), the DLQ reports the dead letters that die again, wherever they went.
func (o ExecuteOptions) Fits(to string, alone bool) error {
	switch {
	case alone && o.Wait && o.WatchGroup == "":
		return fmt.Errorf("%w: --wait needs --watch-group here: other software does not report which dead letters it has processed; --canary waits for a while and looks whether they die again", ErrOptions)
	case !alone && to != "" && (o.Wait || o.Ramp.Gates()):
		return fmt.Errorf("%w: --canary, --max-failed and --wait cannot be combined with --to: nobody reports the outcomes of dead letters that leave the pipeline", ErrOptions)
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

// newID returns a new ID that sorts by time: "replay-20261103T040506Z-1a2b3c4d".
func newID(word string, now time.Time) string {
	var b [4]byte
	// crypto/rand.Read never fails (it ends the program instead).
	_, _ = rand.Read(b[:])
	return word + "-" + now.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(b[:])
}

// checkForce returns an error if there is no version guard to lift, or no reason.
func (s *Service) checkForce(force, to string) error {
	switch {
	case force == "":
		return nil
	case s.alone:
	case s.cfg.Ordering.Mode == config.OrderingNone:
		return fmt.Errorf("%w: --force-version has no effect with ordering.mode: none, which has no version guard; leave it out", ErrOptions)
	case to != "":
		return fmt.Errorf("%w: --force-version cannot be combined with --to: only the consumer of this pipeline obeys it, and the dead letters leave the pipeline", ErrOptions)
	}
	return checkReason(force)
}

// checkForced returns an error unless the operator who executes a forced plan sets ForceVersion too: a plan can come
// from elsewhere.
func (s *Service) checkForced(p *plan.Plan, o ExecuteOptions) error {
	switch forced := p.Force != ""; {
	case forced && !o.ForceVersion:
		return fmt.Errorf("%w: the plan overwrites newer data (--force-version, %q); add --force-version, or make another plan", ErrOptions, p.Force)
	case !forced && o.ForceVersion:
		return fmt.Errorf("%w: the plan was made without --force-version and does not know what would be overwritten; make a new plan with --force-version", ErrOptions)
	}
	return s.checkForce(p.Force, p.To)
}
