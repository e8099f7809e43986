package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/switchback-geo/switchback/internal/replay/rewrite"
)

// findSubject writes into a rewrite the latest schema of the subject that it names, so that a plan foretells it.
func (s *Service) findSubject(ctx context.Context, spec rewrite.Spec) (rewrite.Spec, error) {
	if spec.Subject == "" || !s.alone {
		return spec, nil
	}
	var err error
	spec.SchemaID, err = s.latestSchema(ctx, spec.Subject)
	return spec, err
}

// latestSchema returns the id of the latest schema of a subject. The error is [ErrRegistry] when the registry cannot be asked, else
// [ErrOptions].
func (s *Service) latestSchema(ctx context.Context, subject string) (id int, err error) {
	if !s.cfg.SchemaRegistry.Enabled() {
		return 0, fmt.Errorf("%w: --subject %s: name the registry with --registry", ErrOptions, subject)
	}
	id, err = s.mapping.LatestSchema(ctx, subject)
	if err = registryFault(err); err != nil && !errors.Is(err, ErrRegistry) {
		err = fmt.Errorf("%w: --subject %s: %w", ErrOptions, subject, err)
	}
	return id, err
}

// checkSubject stops a replay when the subject of its rewrite has another latest schema than the plan says. It asks once for each transaction.
func (r *replaying) checkSubject(ctx context.Context) error {
	spec := r.plan.Rewrite
	if r.subject || spec.Subject == "" {
		return nil
	}
	id, err := r.service.latestSchema(ctx, spec.Subject)
	if err != nil {
		return err
	}
	if id != spec.SchemaID {
		return fmt.Errorf("the latest schema of subject %s is %d, and the plan was made for %d: make a new plan", spec.Subject, id, spec.SchemaID)
	}
	r.subject = true
	return nil
}
