package dlq

import (
	"cmp"
	"context"
	"slices"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// ValuesOf is how many dead letters of a group, the oldest ones, are read for their values.
const ValuesOf = 1000

// ValuesListed is how many values of a group the JSON has.
const ValuesListed = 100

// Value is a value for which dead letters of a group are refused.
type Value struct {
	Path    string // JSON pointer into the feature (RFC 6901)
	Text    string // as in the records, cut to 80 characters
	Letters int
}

// Values are the refused values of one group.
type Values struct {
	Asked int     // dead letters whose bytes were read
	Known int     // of these, the ones that today's transform refuses for one value, with the code of the group
	Each  []Value // the most frequent first
}

// Values returns the values for which today's transform refuses the selected dead letters of a group, of the oldest
// [ValuesOf]. A dead letter that died of something else than a value, or that passes now, has none.
func (s *Service) Values(ctx context.Context, q dlqindex.Query, g deadletters.Group) (Values, error) {
	var v Values
	if s.letters == nil || s.alone {
		return v, nil
	}
	q.Groups, q.Limit = []string{g.ID}, ValuesOf
	type place struct{ path, text string }
	counts := map[place]int{}
	err := s.Contents(ctx, q, func(l deadletters.Letter) error {
		v.Asked++
		if r := s.letters.Refused(ctx, l); r != nil && r.Value != "" && string(r.Code) == g.Code {
			v.Known++
			counts[place{r.Path, r.Value}]++
		}
		return ctx.Err()
	})
	for at, letters := range counts {
		v.Each = append(v.Each, Value{at.path, at.text, letters})
	}
	slices.SortFunc(v.Each, func(a, b Value) int {
		return cmp.Or(cmp.Compare(b.Letters, a.Letters), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Text, b.Text))
	})
	return v, err
}
