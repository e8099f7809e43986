package dlq

import (
	"context"
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/replay"
)

// annotate adds the notes to groups. If they cannot be read, it leaves them out: they are worth no error.
func (s *Service) annotate(ctx context.Context, groups []Group) {
	if s.away.Load() || s.foreign {
		return
	}
	notes, err := s.letters.Notes(ctx)
	for i := range groups {
		if n, is := notes[groups[i].ID]; is && err == nil {
			groups[i].Note = &n
		}
	}
}

// WriteNote writes a note on a group of this DLQ (see [replay.Service.WriteNote]). The error is [dlqindex.ErrNoLetter]
// if the group has no dead letters.
func (s *Service) WriteNote(ctx context.Context, group, text, by string, seen *time.Time) error {
	if s.foreign {
		return fmt.Errorf("%w: notes are kept for the pipeline's own DLQ; name this one by --brokers and --topic, without -c", replay.ErrOptions)
	}
	letters, err := s.Count(ctx, dlqindex.Query{Filter: deadletters.Filter{Groups: []string{group}}})
	if err != nil {
		return err
	}
	if letters == 0 {
		return fmt.Errorf("%w in a group %q; replayer groups shows the ids", dlqindex.ErrNoLetter, group)
	}
	return s.letters.WriteNote(ctx, group, text, by, seen)
}
