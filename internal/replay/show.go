package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay/plan"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Detail is everything about one letter.
type Detail struct {
	Letter  deadletters.Letter // with its content
	Feature []byte             // the decoded feature as GeoJSON; nil when it cannot be decoded or is a delete
	Decode  error              // why it cannot be decoded
	Verdict plan.Verdict       // what today's transform says of it
}

// Show returns one letter with headers, original bytes and the decoded feature. The error is
// [ErrNoLetter] when no letter has the id.
func (s *Service) Show(ctx context.Context, id string) (Detail, error) {
	x, err := s.index(ctx, deadletters.Filter{})
	if err != nil {
		return Detail{}, err
	}
	letter, ok := x.Letter(id)
	if !ok {
		return Detail{}, fmt.Errorf("%w: %s in %s; replayer list shows the ids", ErrNoLetter, id, s.cfg.Topics.DLQ)
	}
	content, err := s.content(ctx, letter)
	if err != nil {
		return Detail{}, err
	}
	if err := s.mapping.Load(ctx); err != nil {
		return Detail{}, err
	}
	letter.Content = content
	return s.Judge(ctx, letter), nil
}

// Judge says everything about a letter that comes with its content: the decoded feature, and what
// today's transform says.
func (s *Service) Judge(ctx context.Context, letter deadletters.Letter) Detail {
	content := letter.Content
	d := Detail{Letter: letter, Verdict: judge(ctx, s.mapping, content.Headers, content.Value)}
	if content.Value != nil {
		d.Feature, d.Decode = s.Decoded(ctx, content)
	}
	return d
}

// Decoded gives the feature as the pipeline understands it, before any mapping, as GeoJSON; nil
// for a delete.
func (s *Service) Decoded(ctx context.Context, c *deadletters.Content) ([]byte, error) {
	opened, err := s.mapping.Open(ctx, retrytopics.ProducerHeaders(c.Headers), c.Value)
	if err != nil || opened.Delete {
		return nil, err
	}
	if opened.Features == nil {
		return s.mapping.GeoJSON(opened.Feature)
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

// content fetches the record of one letter.
func (s *Service) content(ctx context.Context, l deadletters.Letter) (*deadletters.Content, error) {
	var content *deadletters.Content
	err := s.WithContent(ctx, []deadletters.Letter{l}, func(l deadletters.Letter) error {
		content = l.Content
		return nil
	})
	if err == nil && content == nil {
		err = errors.New("the record at " + l.DLQ.String() + " is gone: retention took it while it was being read")
	}
	return content, err
}

// WithContent calls fn for each of the letters with its content, in the order of the DLQ
// (partition, then offset), so that any number of letters needs the memory of a few. A letter
// that retention took in between is left out.
func (s *Service) WithContent(ctx context.Context, letters []deadletters.Letter, fn func(deadletters.Letter) error) error {
	at := make(map[retrytopics.Position]*deadletters.Letter, len(letters))
	spans := spanSet{}
	for i := range letters {
		at[letters[i].DLQ] = &letters[i]
		spans.add(letters[i].DLQ.Partition, letters[i].DLQ.Offset)
	}
	return deadletters.Scan(ctx, s.client, s.cfg.Topics.DLQ, spans, func(r *kgo.Record) error {
		l, wanted := at[position(r)]
		if !wanted {
			return nil
		}
		full := *l
		full.Content = deadletters.Decode(r, true).Content
		return fn(full)
	})
}
