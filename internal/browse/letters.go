package browse

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/index"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

const (
	pageLetters = 4000     // whose bytes are fetched together
	pageBytes   = 16 << 20 // of their values
	wideGap     = 200      // offsets between two letters over which it is cheaper to fetch twice
)

// Letters calls fn for each selected letter without its content, the oldest death first.
func (s *Service) Letters(ctx context.Context, q index.Query, fn func(deadletters.Letter) error) error {
	d, err := s.dlq(ctx)
	if err != nil {
		return err
	}
	return d.Letters(ctx, q, fn)
}

// Contents is Letters with what each letter carries, fetched a page at a time, so that any number
// of letters needs the memory of a few. A letter whose record the topic no longer has comes
// without content.
func (s *Service) Contents(ctx context.Context, q index.Query, fn func(deadletters.Letter) error) error {
	var page []deadletters.Letter
	bytes := 0
	flush := func() error {
		err := s.fill(ctx, page)
		for i := range page {
			if err == nil {
				err = fn(page[i])
			}
		}
		page, bytes = page[:0], 0
		return err
	}
	err := s.Letters(ctx, q, func(l deadletters.Letter) error {
		page = append(page, l)
		if bytes += l.Size; len(page) < pageLetters && bytes < pageBytes {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// fill fetches the content of letters.
func (s *Service) fill(ctx context.Context, page []deadletters.Letter) error {
	at := make(map[retrytopics.Position]*deadletters.Letter, len(page))
	byPartition := map[int32][]int64{}
	for i := range page {
		l := &page[i]
		if l.Gone.IsZero() {
			at[l.DLQ] = l
			byPartition[l.DLQ.Partition] = append(byPartition[l.DLQ.Partition], l.DLQ.Offset)
		}
	}
	for p, offsets := range byPartition {
		for _, span := range spansOf(offsets) {
			err := deadletters.Scan(ctx, s.client, s.source.DLQ, map[int32]deadletters.Span{p: span}, func(r *kgo.Record) error {
				if l := at[retrytopics.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}]; l != nil {
					l.Content = &deadletters.Content{Value: r.Value, Headers: r.Headers}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	for i := range page {
		if err := s.follow(ctx, &page[i]); err != nil {
			return err
		}
	}
	return nil
}

// spansOf gives the spans that hold some offsets of one partition, cut where a gap is wide.
func spansOf(offsets []int64) []deadletters.Span {
	slices.Sort(offsets)
	var out []deadletters.Span
	for _, offset := range offsets {
		if n := len(out); n > 0 && offset-out[n-1].End < wideGap {
			out[n-1].End = offset + 1
			continue
		}
		out = append(out, deadletters.Span{Start: offset, End: offset + 1})
	}
	return out
}
