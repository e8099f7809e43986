package replay

import (
	"cmp"
	"context"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/internal/status"
)

// Flow describes how records move through the pipeline: lag, waiting records, consumer instances, and the mapping in
// use.
type Flow struct {
	status.Flow
	Source  string `json:"source"`  // source topic
	Mapping string `json:"mapping"` // fingerprint of the mapping in the pipeline file
}

// Flow asks the brokers for the flow of the pipeline. It returns nil if there is no pipeline.
func (s *Service) Flow(ctx context.Context) (*Flow, error) {
	if s.alone {
		return nil, nil //nolint:nilnil // nothing flows
	}
	view, err := control.Read(ctx, s.opts, s.cfg.Topics.Control)
	if err != nil {
		return nil, err
	}
	out := &Flow{Source: s.cfg.Source.Topic}
	if out.Mapping, err = s.dryRun.Fingerprint(); err != nil {
		return nil, err
	}
	if out.Flow, err = status.GatherFlow(ctx, s.cfg, kadm.NewClient(s.client), view); err != nil {
		return nil, err
	}
	return out, out.Times(ctx, s.client)
}

// Mappings compares the mapping of a plan with the mappings that the running instances announce. If the plan is nil
// or has no mapping, it compares the mapping of the pipeline file. The running instances judge the replayed records,
// not this process.
func (s *Service) Mappings(ctx context.Context, p *plan.Plan) (status.MappingComparison, error) {
	own, err := s.dryRun.Fingerprint()
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
