package replay

import (
	"context"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Detail is everything about one letter.
type Detail struct {
	Letter  deadletters.Letter // with its content
	Feature []byte             // the decoded feature as GeoJSON; nil when it cannot be decoded or is a delete
	Decode  error              // why it cannot be decoded
	Verdict plan.Verdict       // what today's transform says of it
	Refused *Refused           // what it refuses, where that is a value or a place
}

// Judge says everything about a letter that comes with its content: the decoded feature, and what
// today's transform says.
func (s *Service) Judge(ctx context.Context, letter deadletters.Letter) Detail {
	content := letter.Content
	_, err := try(ctx, s.mapping, s.asRecord(ctx, &letter, content.Value))
	d := Detail{Letter: letter, Verdict: verdictOf(err), Refused: refusedBy(err)}
	if content.Value != nil {
		d.Feature, d.Decode = s.Decoded(ctx, content)
	}
	return d
}

// Decoded gives the feature as the pipeline understands it, before any mapping, as GeoJSON; nil
// for a delete.
func (s *Service) Decoded(ctx context.Context, c *deadletters.Content) ([]byte, error) {
	opened, err := s.mapping.Open(ctx, header.ProducerHeaders(c.Headers), c.Value)
	if err != nil || opened.Delete {
		return nil, err
	}
	if opened.Features == nil {
		return s.mapping.GeoJSON(opened.Feature)
	}
	if err := opened.Unread(); err != nil {
		return nil, err
	}
	text := []byte(`{"type":"FeatureCollection","features":[`)
	for i, f := range opened.Features {
		one, err := s.mapping.GeoJSON(f)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, one...)
	}
	return append(text, "]}"...), nil
}
