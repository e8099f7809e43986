package dlqindex

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/switchback-geo/switchback/internal/kafka"
)

const (
	batchRows  = 2500    // of one SQL transaction
	batchBytes = 8 << 20 // of what is written of them, roughly
)

// piece is what one SQL transaction writes: items, and the offset behind them.
type piece[T any] struct {
	items []T
	next  int64
}

// scan reads a span of a partition and calls fn for each item, with the offset behind it and its size in memory.
type scan[T any] func(ctx context.Context, of partition, span kafka.Span, fn func(item T, next int64, bytes int) error) error

// follow reads a partition from its position to the end of its span, in pieces. Each piece is put in a transaction of its own, which moves
// the position. While one piece is written, the next is fetched and decoded. The last piece ends at the end of the span, behind
// transaction markers too. written counts the items.
func follow[T any](ctx context.Context, y *syncer, of partition, from int64, span kafka.Span, read scan[T], put func(*tx, []T) error, written *int) error {
	if from >= span.End {
		return nil
	}
	start := max(from, span.Start)
	group, ctx := errgroup.WithContext(ctx)
	pieces := make(chan piece[T]) // one is written, one is made
	group.Go(func() error {
		defer close(pieces)
		return cut(ctx, of, kafka.Span{Start: start, End: span.End}, read, pieces)
	})
	group.Go(func() error {
		at := from
		for p := range pieces {
			err := y.session.inTx(ctx, func(tx *tx) error {
				if err := tx.move(y.dlq, of, at, p.next); err != nil {
					return err
				}
				return put(tx, p.items)
			})
			if err != nil {
				return err
			}
			*written += len(p.items)
			y.advance(of.topic, p.next-max(at, start))
			at = p.next
		}
		return nil
	})
	return group.Wait()
}

// cut reads a span and sends it in pieces.
func cut[T any](ctx context.Context, of partition, span kafka.Span, read scan[T], to chan<- piece[T]) error {
	items := make([]T, 0, min(span.End-span.Start, batchRows))
	held := 0
	send := func(next int64) error {
		select {
		case to <- piece[T]{items, next}:
			items, held = make([]T, 0, min(max(span.End-next, 0), batchRows)), 0
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := read(ctx, of, span, func(item T, next int64, bytes int) error {
		items = append(items, item)
		if held += bytes; len(items) < batchRows && held < batchBytes {
			return nil
		}
		return send(next)
	})
	if err != nil {
		return err
	}
	return send(span.End)
}
