package replay

import (
	"fmt"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

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
