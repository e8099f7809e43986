package replay

import (
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/replay/operation"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/replay/ramp"
)

// ExecuteOptions describes how a plan is executed.
type ExecuteOptions struct {
	operation.Call
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

// check returns an error that wraps operation.ErrOptions if the options are invalid.
func (o ExecuteOptions) check() error {
	if err := o.Call.Check(); err != nil {
		return err
	}
	if err := o.Ramp.Check(); err != nil {
		return fmt.Errorf("%w: %w", operation.ErrOptions, err)
	}
	if o.Rate < 0 || o.Patience < 0 || o.Grace < 0 {
		return fmt.Errorf("%w: rate is %v, patience is %s, grace is %s: none can be negative", operation.ErrOptions, o.Rate, o.Patience, o.Grace)
	}
	return nil
}

// Fits returns an error if the options wait for outcomes that nobody reports. An empty to is the source topic. Without
// a pipeline (alone), the DLQ reports the dead letters that die again, wherever they went.
func (o ExecuteOptions) Fits(to string, alone bool) error {
	switch {
	case alone && o.Wait && o.WatchGroup == "":
		return fmt.Errorf("%w: --wait needs --watch-group here: other software does not report which dead letters it has processed; --canary waits for a while and looks whether they die again", operation.ErrOptions)
	case !alone && to != "" && (o.Wait || o.Ramp.Gates()):
		return fmt.Errorf("%w: --canary, --max-failed and --wait cannot be combined with --to: nobody reports the outcomes of dead letters that leave the pipeline", operation.ErrOptions)
	}
	return nil
}

// checkForce returns an error if there is no version guard to lift, or no reason.
func (s *Service) checkForce(force, to string) error {
	switch {
	case force == "":
		return nil
	case s.alone:
	case s.cfg.Ordering.Mode == config.OrderingNone:
		return fmt.Errorf("%w: --force-version has no effect with ordering.mode: none, which has no version guard; leave it out", operation.ErrOptions)
	case to != "":
		return fmt.Errorf("%w: --force-version cannot be combined with --to: only the consumer of this pipeline obeys it, and the dead letters leave the pipeline", operation.ErrOptions)
	}
	return operation.CheckReason(force)
}

// checkForced returns an error unless the operator who executes a forced plan sets ForceVersion too: a plan can come
// from elsewhere.
func (s *Service) checkForced(p *plan.Plan, o ExecuteOptions) error {
	switch forced := p.Force != ""; {
	case forced && !o.ForceVersion:
		return fmt.Errorf("%w: the plan overwrites newer data (--force-version, %q); add --force-version, or make another plan", operation.ErrOptions, p.Force)
	case !forced && o.ForceVersion:
		return fmt.Errorf("%w: the plan was made without --force-version and does not know what would be overwritten; make a new plan with --force-version", operation.ErrOptions)
	}
	return s.checkForce(p.Force, p.To)
}
