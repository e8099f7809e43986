package deadletters

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Index is the letters of one DLQ with their states, in memory, as of one moment. It holds no
// values and no foreign headers, so its size goes with the number of letters, not of bytes.
type Index struct {
	letters map[string]*Letter
	States  *States
	Ends    map[int32]int64 // end offset of each partition of the DLQ up to which it was read
}

// LoadIndex reads both topics up to their present ends. The states come first: a letter that is
// replayed in between is then seen as it was before, never as pending with a record of later.
func LoadIndex(ctx context.Context, cl *kgo.Client, dlqTopic, statusTopic string) (*Index, error) {
	return LoadIndexFor(ctx, cl, dlqTopic, statusTopic, Filter{})
}

// LoadIndexFor is LoadIndex for the letters that one filter selects: what it asks of headers and
// text, which the index does not keep, is decided while each record is there.
func LoadIndexFor(ctx context.Context, cl *kgo.Client, dlqTopic, statusTopic string, f Filter) (*Index, error) {
	states, err := LoadStates(ctx, cl, statusTopic)
	if err != nil {
		return nil, err
	}
	spans, err := Spans(ctx, cl, dlqTopic)
	if err != nil {
		return nil, err
	}
	x := NewIndex(states)
	for p, span := range spans {
		x.Ends[p] = span.End
	}
	err = Scan(ctx, cl, dlqTopic, spans, func(r *kgo.Record) error {
		l := Decode(r, f.NeedsContent())
		l.found, l.Content = f.matchContent(&l), nil
		x.Add(l)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// NewIndex returns an index without letters.
func NewIndex(states *States) *Index {
	return &Index{letters: map[string]*Letter{}, States: states, Ends: map[int32]int64{}}
}

// Add takes over a letter and joins it with its state. A second letter with one id is the same
// letter, dead again: the later record counts.
func (x *Index) Add(l Letter) {
	if before := x.letters[l.ID]; before != nil {
		l.Deaths += before.Deaths
	}
	state, err := x.States.Of(l.ID)
	if err != nil {
		l.Problems = append(l.Problems, err.Error())
		l.Status = ""
	} else {
		l.State, l.Status = state, state.Status
	}
	x.letters[l.ID] = &l
}

// Letters returns the selected letters, the oldest death first, at most filter.Limit of them.
func (x *Index) Letters(filter Filter) []Letter {
	var selected []Letter
	for _, l := range x.letters {
		if filter.Match(l) {
			selected = append(selected, *l)
		}
	}
	slices.SortFunc(selected, func(a, b Letter) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.DLQ.Partition, b.DLQ.Partition), cmp.Compare(a.DLQ.Offset, b.DLQ.Offset))
	})
	if filter.Limit > 0 && len(selected) > filter.Limit {
		selected = selected[:filter.Limit]
	}
	return selected
}
