package dlq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay/operation"
)

// Group is a group of dead letters and its share of the traffic.
type Group struct {
	deadletters.Group

	// Share is the least number of dead letters per consumed source record, from 0 to 1; -1 if it is unknown.
	Share float64

	Note   *control.Note // a person's note; nil without one
	Values *Values       // the refused values; nil if they were not requested
}

// Groups returns the groups of the selected dead letters, the largest first. A limit bounds the groups.
//
// The traffic is the number of source records that the consumer has consumed, within the time of the selection, or ever
// if it has none. It is a difference of offsets, which includes transaction markers, aborted records and replays:
// counting records alone would require reading the topic. The share is a lower bound and is shown as one.
func (s *Service) Groups(ctx context.Context, q dlqindex.Query) ([]Group, error) {
	groups, err := ask(ctx, s, func(d *dlqindex.DLQ) ([]deadletters.Group, error) { return d.Groups(ctx, q) })
	if err != nil || len(groups) == 0 {
		return nil, err
	}
	traffic := s.traffic(ctx, q.Since, q.Until)
	out := unshared(groups)
	for i := range out {
		if traffic > 0 {
			out[i].Share = min(float64(out[i].Count)/float64(traffic), 1)
		}
	}
	s.annotate(ctx, out)
	return out, nil
}

func unshared(groups []deadletters.Group) []Group {
	out := make([]Group, len(groups))
	for i, g := range groups {
		out[i] = Group{Group: g, Share: -1}
	}
	return out
}

// Chosen returns the groups of the dead letters that a change with this filter acts on: a limit bounds the dead letters,
// the oldest first. Shares are unknown.
func (s *Service) Chosen(ctx context.Context, f deadletters.Filter) ([]Group, error) {
	d, err := s.dlq(ctx)
	if err != nil {
		return nil, err
	}
	if f.Limit == 0 {
		groups, err := d.Groups(ctx, dlqindex.Query{Filter: f})
		return unshared(groups), err
	}
	var x deadletters.Grouping
	err = d.Letters(ctx, dlqindex.Query{Filter: f}, func(l deadletters.Letter) error {
		x.Add(&l)
		return nil
	})
	return unshared(x.Groups()), err
}

// traffic counts the source records, within a time, that the consumer group has committed; the zero times are its
// first record and now. A group without commits, such as a deleted one, counts as having consumed everything. 0 means
// that the traffic is unknown: a missing share is not an error.
func (s *Service) traffic(ctx context.Context, since, until time.Time) int64 {
	if s.away.Load() || s.source.Status == "" || s.alone {
		return 0 // a DLQ of other software: its source topics are unknown
	}
	to, err := s.offsetsAt(ctx, until)
	if err != nil {
		return 0
	}
	from := kadm.ListedOffsets{}
	if !since.IsZero() {
		if from, err = s.offsetsAt(ctx, since); err != nil {
			return 0
		}
	}
	committed, err := s.admin.FetchOffsetsForTopics(ctx, s.cfg.Source.Group, s.cfg.Source.Topic)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return 0
	}
	taken, commits := map[int32]int64{}, false
	for p, at := range committed[s.cfg.Source.Topic] {
		taken[p] = max(at.At, 0)
		commits = commits || at.At >= 0
	}
	var n int64
	for p, end := range to[s.cfg.Source.Topic] {
		last := end.Offset
		if commits {
			last = min(last, taken[p])
		}
		n += max(last-from[s.cfg.Source.Topic][p].Offset, 0)
	}
	return n
}

// offsetsAt returns the first offset of each partition of the source topic at or after a time; its end for the zero
// time.
func (s *Service) offsetsAt(ctx context.Context, t time.Time) (kadm.ListedOffsets, error) {
	var offsets kadm.ListedOffsets
	var err error
	if t.IsZero() {
		offsets, err = s.admin.ListCommittedOffsets(ctx, s.cfg.Source.Topic)
	} else {
		offsets, err = s.admin.ListOffsetsAfterMilli(ctx, t.UnixMilli(), s.cfg.Source.Topic)
	}
	if err == nil {
		err = offsets.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("list the offsets of %s: %w", s.cfg.Source.Topic, kafka.DeniedTopic("Read", s.cfg.Source.Topic, err))
	}
	return offsets, nil
}

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
		return fmt.Errorf("%w: notes are kept for the pipeline's own DLQ only; name this one by --brokers and --topic, without -c", operation.ErrOptions)
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

// ValuesOf is the number of dead letters of a group, the oldest ones, whose values are read.
const ValuesOf = 1000

// ValuesListed is how many values of a group the JSON has.
const ValuesListed = 100

// Value is a value for which dead letters of a group are refused.
type Value struct {
	Path    string `json:"path"`  // JSON pointer into the feature (RFC 6901)
	Text    string `json:"value"` // as in the records, cut to 80 characters
	Letters int    `json:"count"`
}

// Values are the refused values of one group.
type Values struct {
	Asked   int     // dead letters whose bytes were read
	Failing int     // of these, the ones that today's transform refuses
	Known   int     // of the failing ones, those refused for one value, with the code of the group
	Each    []Value // the most frequent first
}

// Values returns the values for which today's transform refuses the selected dead letters of a group, of the oldest
// [ValuesOf]. A dead letter with another cause than a value, or that passes now, has none.
func (s *Service) Values(ctx context.Context, q dlqindex.Query, g deadletters.Group) (Values, error) {
	var v Values
	if s.letters == nil || s.alone {
		return v, nil
	}
	q.Groups, q.Limit = []string{g.ID}, ValuesOf
	counts := map[Value]int{}
	err := s.Contents(ctx, q, func(l deadletters.Letter) error {
		if l.Content == nil {
			return ctx.Err()
		}
		v.Asked++
		r, passes := s.letters.DryRun().Refused(ctx, l)
		if !passes {
			v.Failing++
		}
		if r != nil && r.Value != "" && string(r.Code) == g.Code {
			v.Known++
			counts[Value{Path: r.Path, Text: r.Value}]++
		}
		return ctx.Err()
	})
	for value, letters := range counts {
		value.Letters = letters
		v.Each = append(v.Each, value)
	}
	slices.SortFunc(v.Each, func(a, b Value) int {
		return cmp.Or(cmp.Compare(b.Letters, a.Letters), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Text, b.Text))
	})
	return v, err
}
