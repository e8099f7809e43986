package index

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

const (
	batchRows  = 2500    // of one SQL transaction
	batchBytes = 8 << 20 // of the values in it, roughly
)

// piece is what one SQL transaction takes in: items, and the offset behind them.
type piece[T any] struct {
	items []T
	next  int64
}

// follow reads a partition from an offset to the end of its span, in pieces: while one is written,
// the next is fetched and decoded. The last piece ends at the span's end, behind whatever lies
// there that is no record.
func follow[T any](
	ctx context.Context, y *syncer, of partition, from int64, span deadletters.Span,
	decode func(*kgo.Record) T, write func(ctx context.Context, items []T, from, next int64) error,
) error {
	if from >= span.End {
		return nil
	}
	start := max(from, span.Start)
	group, ctx := errgroup.WithContext(ctx)
	pieces := make(chan piece[T], 1)
	group.Go(func() error {
		defer close(pieces)
		return cut(ctx, y.client, of, deadletters.Span{Start: start, End: span.End}, decode, pieces)
	})
	group.Go(func() error {
		at := from
		for p := range pieces {
			if err := write(ctx, p.items, at, p.next); err != nil {
				return err
			}
			y.advance(of.topic, p.next-max(at, start))
			at = p.next
		}
		return nil
	})
	return group.Wait()
}

// cut reads a span and sends it in pieces.
func cut[T any](ctx context.Context, cl *kgo.Client, of partition, span deadletters.Span, decode func(*kgo.Record) T, to chan<- piece[T]) error {
	items := make([]T, 0, min(span.End-span.Start, batchRows))
	bytes := 0
	send := func(next int64) error {
		select {
		case to <- piece[T]{items, next}:
			items, bytes = make([]T, 0, min(max(span.End-next, 0), batchRows)), 0
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := deadletters.Scan(ctx, cl, of.topic, map[int32]deadletters.Span{of.number: span}, func(r *kgo.Record) error {
		items = append(items, decode(r))
		if bytes += len(r.Value) + len(r.Key); len(items) < batchRows && bytes < batchBytes {
			return nil
		}
		return send(r.Offset + 1)
	})
	if err != nil {
		return err
	}
	return send(span.End)
}
