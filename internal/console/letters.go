package console

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// StatsAnswer counts the dead letters.
type StatsAnswer struct {
	Fresh Freshness     `json:"fresh"`
	Stats dlq.StatsJSON `json:"stats"`
}

// GroupsAnswer has groups of dead letters.
type GroupsAnswer struct {
	Fresh  Freshness       `json:"fresh"`
	Groups []dlq.GroupJSON `json:"groups"`
	Total  int             `json:"total"`          // groups on all pages
	Next   string          `json:"next,omitempty"` // cursor of the next page; absent on the last one
}

// LettersAnswer is a page of dead letters.
type LettersAnswer struct {
	Fresh   Freshness        `json:"fresh"`
	Letters []dlq.LetterJSON `json:"dead_letters"`
	Total   *int             `json:"total,omitempty"` // dead letters that the filters select; on the first page only
	Next    string           `json:"next,omitempty"`  // cursor of the next page; absent on the last one

	byState map[deadletters.Status]int // of the total
}

// LetterAnswer is one dead letter.
type LetterAnswer struct {
	Fresh  Freshness      `json:"fresh"`
	Letter dlq.DetailJSON `json:"dead_letter"`
}

func (c *Console) stats(ctx context.Context, _ query) (StatsAnswer, error) {
	fresh, err := c.index.fresh(ctx)
	if err != nil {
		return StatsAnswer{}, err
	}
	s, err := c.letters.Stats(ctx)
	return StatsAnswer{fresh, dlq.NewStatsJSON(s, c.now())}, err
}

func (c *Console) groups(ctx context.Context, q query) (GroupsAnswer, error) {
	selected, err := q.selection(c.now())
	if err != nil {
		return GroupsAnswer{}, err
	}
	fresh, err := c.index.fresh(ctx)
	if err != nil {
		return GroupsAnswer{}, err
	}
	return c.groupsOf(ctx, fresh, selected, q.get("cursor"))
}

// groupsOf returns the groups after a cursor. A group that grows or shrinks past the cursor meanwhile is on another
// page.
func (c *Console) groupsOf(ctx context.Context, fresh Freshness, selected dlqindex.Query, cursor string) (GroupsAnswer, error) {
	count, id, err := parseGroupCursor(cursor)
	if err != nil {
		return GroupsAnswer{}, err
	}
	limit := selected.Limit
	selected.Limit = 0
	groups, err := c.letters.Groups(ctx, selected)
	out := GroupsAnswer{Fresh: fresh, Groups: []dlq.GroupJSON{}, Total: len(groups)}
	if cursor != "" {
		groups = groups[sort.Search(len(groups), func(i int) bool { return groups[i].Count < count || groups[i].Count == count && groups[i].ID > id }):]
	}
	if len(groups) > limit {
		groups = groups[:limit]
		out.Next = fmt.Sprintf("%d.%s", groups[limit-1].Count, groups[limit-1].ID)
	}
	for _, g := range groups {
		out.Groups = append(out.Groups, dlq.NewGroupJSON(g))
	}
	c.maskOf(ctx).groups(out.Groups)
	return out, err
}

// parseGroupCursor parses the count and the ID of the last group of a page.
func parseGroupCursor(text string) (count int, id string, err error) {
	if text == "" {
		return 0, "", nil
	}
	number, id, _ := strings.Cut(text, ".")
	if count, err = strconv.Atoi(number); err != nil || id == "" {
		return 0, "", usage("cursor: %q does not belong to groups; use next of the previous page", text)
	}
	return count, id, nil
}

const (
	// pagePart is how many dead letters of a page are read at once. pageBytes is how many bytes of keys and messages end
	// a page early, so that a page of hostile messages stays small.
	pagePart  = 50
	pageBytes = 4 << 20
)

func (c *Console) page(ctx context.Context, q query) (LettersAnswer, error) {
	selected, after, err := q.page(c.now())
	if err != nil {
		return LettersAnswer{}, err
	}
	fresh, err := c.index.fresh(ctx)
	if err != nil {
		return LettersAnswer{}, err
	}
	return c.pageOf(ctx, fresh, selected, after)
}

func (c *Console) pageOf(ctx context.Context, fresh Freshness, selected dlqindex.Query, after *dlqindex.Cursor) (LettersAnswer, error) {
	out := LettersAnswer{Fresh: fresh, Letters: []dlq.LetterJSON{}}
	limit, first := selected.Limit, after == nil
	for bytes := 0; len(out.Letters) < limit && bytes < pageBytes; {
		selected.Limit = min(pagePart, limit-len(out.Letters))
		part, err := c.letters.Page(ctx, selected, after)
		if err != nil {
			return LettersAnswer{}, err
		}
		if first && after == nil {
			out.Total, out.byState = &part.Total, part.ByState
		}
		for i := range part.Letters {
			bytes += listedSize(&part.Letters[i])
			l := dlq.NewLetterJSON(part.Letters[i])
			c.maskOf(ctx).letter(&l)
			out.Letters = append(out.Letters, l)
		}
		if out.Next, after = "", part.Next; after == nil {
			break
		}
		out.Next = after.String()
	}
	return out, nil
}

// listedSize estimates the size of a dead letter in an answer, without its value.
func listedSize(l *deadletters.Letter) int {
	n := len(l.Key) + len(l.Control.ErrorMessage) + len(l.Control.FeatureID)
	for _, p := range l.Problems {
		n += len(p)
	}
	return n
}

// reached returns the freshness of the index for a question that also asks the brokers. The error is why the brokers do
// not answer.
func (c *Console) reached(ctx context.Context) (Freshness, error) {
	fresh, err := c.index.fresh(ctx)
	if err == nil {
		err = c.letters.Reachable(ctx)
	}
	return fresh, err
}

func (c *Console) letter(ctx context.Context, q query) (LetterAnswer, error) {
	fresh, err := c.reached(ctx)
	if err != nil {
		return LetterAnswer{}, err
	}
	d, err := c.letters.Show(ctx, q.id)
	if err != nil {
		return LetterAnswer{}, err
	}
	out := LetterAnswer{fresh, dlq.NewDetailJSON(d)}
	c.maskOf(ctx).detail(&out.Letter)
	return out, nil
}
