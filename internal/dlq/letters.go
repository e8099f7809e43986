package dlq

import (
	"context"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

const (
	pageLetters = 4000     // whose bytes are fetched together
	pageBytes   = 16 << 20 // of their values
	wideGap     = 200      // offsets between two dead letters above which fetching twice is cheaper
)

// Letters calls fn with each selected dead letter without its content, in the order of the query.
func (s *Service) Letters(ctx context.Context, q dlqindex.Query, fn func(deadletters.Letter) error) error {
	d, err := s.dlq(ctx)
	if err != nil {
		return err
	}
	return d.Letters(ctx, q, fn)
}

// Contents is Letters with the content of each dead letter. It fetches a page at a time, so any number needs the memory
// of a few. A dead letter whose record the topic no longer has comes without content.
func (s *Service) Contents(ctx context.Context, q dlqindex.Query, fn func(deadletters.Letter) error) error {
	var page []deadletters.Letter
	bytes, parts := 0, s.parts()
	defer parts.Close()
	flush := func() error {
		err := fill(ctx, parts, page)
		for i := range page {
			if err == nil {
				err = s.follow(ctx, &page[i])
			}
			if err == nil {
				err = fn(page[i])
			}
			page[i] = deadletters.Letter{} // frees the content
		}
		page, bytes = page[:0], 0
		return err
	}
	err := s.Letters(ctx, q, func(l deadletters.Letter) error {
		page = append(page, l)
		if bytes += held(&l); len(page) < pageLetters && bytes < pageBytes {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// held returns the memory of a dead letter's content.
func held(l *deadletters.Letter) int {
	if l.TooLarge != "" || l.Pointer != nil {
		return 0
	}
	return l.Size
}

// fill fetches the content of dead letters.
func fill(ctx context.Context, parts *deadletters.Parts, page []deadletters.Letter) error {
	at := make(map[header.Position]*deadletters.Letter, len(page))
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
			err := parts.Letters(ctx, map[int32]kafka.Span{p: span}, func(read *deadletters.Letter) error {
				if l := at[read.DLQ]; l != nil {
					l.Content = read.Content
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// parts returns a reader of the DLQ. The caller must Close it.
func (s *Service) parts() *deadletters.Parts {
	return s.source.Parts(s.client, s.source.DLQ)
}

// spansOf returns spans with some offsets of one partition, split at wide gaps.
func spansOf(offsets []int64) []kafka.Span {
	slices.Sort(offsets)
	var out []kafka.Span
	for _, offset := range offsets {
		if n := len(out); n > 0 && offset-out[n-1].End < wideGap {
			out[n-1].End = offset + 1
			continue
		}
		out = append(out, kafka.Span{Start: offset, End: offset + 1})
	}
	return out
}
