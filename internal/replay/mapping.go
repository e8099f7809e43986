package replay

import (
	"cmp"
	"context"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/status"
)

// Mappings compares the mapping of a plan with those that the running instances announce. For a nil plan, or one without a mapping,
// it compares the mapping of the pipeline file. The instances judge what goes back, not this process.
func (s *Service) Mappings(ctx context.Context, p *plan.Plan) (status.MappingComparison, error) {
	own, err := s.mapping.Fingerprint()
	if err != nil {
		return status.MappingComparison{}, err
	}
	if p != nil {
		own = cmp.Or(p.Mapping, own)
	}
	group, err := kafka.DescribeGroup(ctx, kadm.NewClient(s.client), s.cfg.Source.Group)
	if err != nil {
		return status.MappingComparison{}, err
	}
	return status.CompareMappings(own, group), nil
}
