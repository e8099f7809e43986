package replay

import (
	"cmp"
	"context"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/status"
)

// Mappings holds the mapping that a plan was made with against those that the running instances announce; of a nil plan, or of one
// that an earlier version wrote, the mapping of the pipeline file. What goes back is judged by the instances, not by this process.
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
