package replay

import (
	"context"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Detail is everything about one letter.
type Detail struct {
	Letter   deadletters.Letter // with its content
	Feature  []byte             // the decoded feature as GeoJSON; nil when it cannot be decoded or is a delete
	Repaired []byte             // the feature with the geometry that today's transform puts in the place of its own; nil where it leaves it
	Decode   error              // why it cannot be decoded
	Verdict  plan.Verdict       // what today's transform says of it
	Refused  *Refused           // what it refuses, where that is a value or a place
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
	if d.Feature != nil {
		d.Repaired = s.repaired(ctx, content)
	}
	return d
}

// repaired returns the feature of a letter with the geometry that the gates repair; nil where they do not, and of a collection.
func (s *Service) repaired(ctx context.Context, c *deadletters.Content) []byte {
	opened, err := s.mapping.Open(ctx, header.ProducerHeaders(c.Headers), c.Value)
	if err != nil || opened.Feature == nil {
		return nil
	}
	out, err := s.mapping.Repaired(ctx, opened.Feature)
	if err != nil {
		return nil // the verdict says why the gates refuse it
	}
	return out
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
