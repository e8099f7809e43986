package dlq

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/kafka"
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

// fill fetches the content of dead letters. Each fetch ends where the next wide gap begins: the span bounds what a fetch
// asks the broker for.
func fill(ctx context.Context, parts *deadletters.Parts, page []deadletters.Letter) error {
	var wanted []*deadletters.Letter
	for i := range page {
		if page[i].Gone.IsZero() {
			wanted = append(wanted, &page[i])
		}
	}
	slices.SortFunc(wanted, func(a, b *deadletters.Letter) int { return placeOf(a).Compare(placeOf(b)) })
	for run := range runsOf(wanted) {
		if err := fillRun(ctx, parts, run); err != nil {
			return err
		}
	}
	return nil
}

// runsOf splits dead letters, ordered by their places, where the partition changes or a gap is wide.
func runsOf(ordered []*deadletters.Letter) iter.Seq[[]*deadletters.Letter] {
	return func(yield func([]*deadletters.Letter) bool) {
		for len(ordered) > 0 {
			n := 1
			for n < len(ordered) && ordered[n].DLQ.Partition == ordered[0].DLQ.Partition && ordered[n].DLQ.Offset-ordered[n-1].DLQ.Offset <= wideGap {
				n++
			}
			if !yield(ordered[:n]) {
				return
			}
			ordered = ordered[n:]
		}
	}
}

// placeOf returns the position of a dead letter in the DLQ.
func placeOf(l *deadletters.Letter) deadletters.Place {
	return deadletters.Place{Partition: l.DLQ.Partition, Offset: l.DLQ.Offset}
}

// fillRun fetches the content of dead letters of one partition, in order.
func fillRun(ctx context.Context, parts *deadletters.Parts, run []*deadletters.Letter) error {
	span := kafka.Span{Start: run[0].DLQ.Offset, End: run[len(run)-1].DLQ.Offset + 1}
	return parts.Letters(ctx, map[int32]kafka.Span{run[0].DLQ.Partition: span}, func(l *deadletters.Letter) error {
		for len(run) > 0 && run[0].DLQ.Offset < l.DLQ.Offset {
			run = run[1:] // its record was deleted
		}
		if len(run) > 0 && run[0].DLQ.Offset == l.DLQ.Offset {
			run[0].Content = l.Content
		}
		return nil
	})
}

// parts returns a reader of the DLQ. The caller must Close it.
func (s *Service) parts() *deadletters.Parts {
	return s.source.Parts(s.client, s.source.DLQ)
}

// ErrNoOriginal is wrapped if a dead letter's original bytes were deleted, or never were known.
var ErrNoOriginal = errors.New("the original bytes cannot be had")

// follow fetches the record of a dead letter of a share group, which only has the record's position. If the record
// was deleted, Problems reports it.
func (s *Service) follow(ctx context.Context, l *deadletters.Letter) error {
	if l.Pointer != nil {
		return nil
	}
	why, err := deadletters.FetchOriginal(ctx, s.client, l, s.source.MaxValue)
	if why != "" {
		l.Problems = append(l.Problems, why)
	}
	return err
}

// resolve fetches the original of a pointer record. missing is why it cannot.
func (s *Service) resolve(ctx context.Context, l *deadletters.Letter) (missing string, err error) {
	switch {
	case l.TooLarge != "":
		return l.TooLarge, nil
	case l.Pointer == nil:
		return "", nil
	}
	missing, err = deadletters.FetchOriginal(ctx, s.client, l, s.source.MaxValue)
	p := l.Pointer
	if missing == "" || err != nil || !p.Read() || p.Bytes <= int64(s.maxValue()) {
		return missing, err
	}
	err = kafka.There(ctx, s.client, p.Position)
	if gone, ok := errors.AsType[*kafka.GoneError](err); ok {
		return "the payload is gone: " + gone.Why, nil
	}
	return missing + fmt.Sprintf("; replayer show %s --out FILE writes it", l.ID), err
}

func (s *Service) maxValue() int { return max(s.source.MaxValue, kafka.MaxValue) }

// Copied is the result of [Service.CopyOriginal].
type Copied struct {
	ID     string `json:"id"`
	From   string `json:"from"` // the record, as topic/partition/offset
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// CopyOriginal writes the original bytes of a dead letter, however large, in little memory. The error is
// [dlqindex.ErrNoLetter] if no dead letter has the ID, and [ErrNoOriginal] if its bytes cannot be fetched; the bytes
// written so far are then not the original.
func (s *Service) CopyOriginal(ctx context.Context, id string, to io.Writer) (Copied, error) {
	d, err := s.dlq(ctx)
	if err != nil {
		return Copied{}, err
	}
	l, _, err := d.Letter(ctx, id)
	if err != nil {
		return Copied{}, err
	}
	from := l.DLQ
	if at, elsewhere := l.Original(); elsewhere {
		from = at
	} else if !l.Gone.IsZero() {
		return Copied{}, fmt.Errorf("dead letter %s: %w: the topic no longer has its record", id, ErrNoOriginal)
	}
	sum := &summed{Hash: sha256.New(), to: to}
	_, err = kafka.CopyValue(ctx, s.client, from, sum)
	if _, gone := errors.AsType[*kafka.GoneError](err); gone {
		err = fmt.Errorf("dead letter %s: %w: %w", id, ErrNoOriginal, err)
	}
	if err != nil {
		return Copied{}, err
	}
	if p := l.Pointer; p != nil && p.Read() && [sha256.Size]byte(sum.Sum(nil)) != p.Value {
		return Copied{}, fmt.Errorf("dead letter %s: %w: another record is at %s now, its SHA-256 is %x and not %x", id, ErrNoOriginal, from, sum.Sum(nil), p.Value)
	}
	return Copied{ID: id, From: from.String(), Bytes: sum.n, SHA256: fmt.Sprintf("%x", sum.Sum(nil))}, nil
}

// SaveOriginal is [Service.CopyOriginal] into a new file that only its owner can read. It replaces a file of that name,
// and leaves no incomplete one.
func (s *Service) SaveOriginal(ctx context.Context, id, file string) (done Copied, err error) {
	out, err := os.CreateTemp(filepath.Dir(file), ".show-*")
	if err != nil {
		return done, fmt.Errorf("write %s: %w", file, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(out.Name()))
		}
	}()
	if done, err = s.CopyOriginal(ctx, id, out); err != nil {
		return done, errors.Join(err, out.Close())
	}
	if err = out.Close(); err != nil {
		return done, fmt.Errorf("write %s: %w", file, err)
	}
	if err = os.Rename(out.Name(), file); err != nil {
		return done, fmt.Errorf("write %s: %w", file, err)
	}
	return done, nil
}

// summed hashes and counts the bytes written to it.
type summed struct {
	hash.Hash
	to io.Writer
	n  int64
}

// Write writes on.
func (s *summed) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	_, _ = s.Hash.Write(p[:n]) // never fails
	s.n += int64(n)
	return n, err
}
