package replay

import (
	"context"
	"fmt"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/dryrun"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/pkg/idempotency"
)

// rewrittenAsPlanned returns the value in the plan, or why the rewrite now returns a different one.
func (r *replaying) rewrittenAsPlanned(ctx context.Context, p *plan.Line, l *deadletters.Letter) (value []byte, why string, err error) {
	if err := r.checkSubject(ctx); err != nil {
		return nil, "", err
	}
	made, err := r.service.dryRun.Rewrite(ctx, r.rewrite, l)
	if err != nil {
		why, err = dryrun.Refusal(err)
		return nil, why, err
	}
	if idempotency.Of(made.Value).String() != p.Becomes {
		return nil, "the rewrite returns another value than when the plan was made: it depends on something other than the record", nil
	}
	return made.Value, "", nil
}

// checkSubject stops a replay if the subject of its rewrite has a newer schema than the plan. It asks once for each
// transaction.
func (r *replaying) checkSubject(ctx context.Context) error {
	spec := r.plan.Rewrite
	if r.subject || spec.Subject == "" {
		return nil
	}
	id, err := r.service.dryRun.LatestSchema(ctx, spec.Subject)
	if err != nil {
		return err
	}
	if id != spec.SchemaID {
		return fmt.Errorf("the latest schema of subject %s is %d, but the plan was made for %d: make a new plan", spec.Subject, id, spec.SchemaID)
	}
	r.subject = true
	return nil
}
