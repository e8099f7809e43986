package replay

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/replay/operation"
)

// Notes returns the operators' notes on groups of dead letters, by group ID.
func (s *Service) Notes(ctx context.Context) (map[string]control.Note, error) {
	if s.store.Dir() != nil {
		return nil, nil
	}
	view, err := control.Read(ctx, s.opts, s.cfg.Topics.Control)
	if s.store.Uncreated(err) {
		return nil, nil
	}
	return view.Notes, err
}

// WriteNote replaces the note on a group; an empty text removes it. seen is the time of the note that the writer has
// read, or zero for none. If the group has a different note by now, WriteNote writes nothing and returns an error. A
// nil seen overwrites any note.
func (s *Service) WriteNote(ctx context.Context, group, text, by string, seen *time.Time) error {
	text = strings.TrimSpace(text)
	if !utf8.ValidString(text) || len(text) > control.MaxNote {
		return fmt.Errorf("%w: the note has %d bytes; use a text of at most %d", operation.ErrOptions, len(text), control.MaxNote)
	}
	if err := operation.CheckActor(by); err != nil {
		return err
	}
	if s.store.Dir() != nil {
		return fmt.Errorf("%w: notes are kept in a topic, but the states of this DLQ are in directory %s", operation.ErrOptions, s.store.Dir().Path())
	}
	missing, err := s.MissingTopics(ctx)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: notes are kept in %s, which does not exist yet; the first change of a dead letter creates it", operation.ErrOptions, s.cfg.Topics.Control)
	}
	note := control.Note{Text: text, By: cmp.Or(by, s.by), At: s.now().UTC().Truncate(time.Millisecond)}
	return control.NewWriter(s.cfg, s.opts).PutNote(ctx, group, note, func(v control.View) error {
		if now := v.Notes[group]; seen != nil && !now.At.Equal(*seen) {
			return fmt.Errorf("%w: %s has written another note meanwhile; nothing was written", operation.ErrOptions, cmp.Or(now.By, "another user"))
		}
		return nil
	})
}
