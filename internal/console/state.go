package console

import (
	"context"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
)

// state is what the first line of the home page says about the pipeline.
type state struct {
	Running bool     // an instance runs, and nobody paused it
	Why     []string // it is not so, or it is not known
	AtWork  string   // who changes dead letters at present
}

// state asks whether records flow. A page waits for the answer no longer than for a refresh of the index: it is worth no error.
func (c *Console) state(ctx context.Context) *state {
	if c.pipeline == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.index.patience)
	defer cancel()
	of, err := c.replays(ctx, query{})
	if err != nil {
		_, err = c.explain(err)
		return &state{Why: []string{"it is not known whether records flow: " + err.Error()}}
	}
	return &state{Running: len(of.Replays.Obstacles) == 0, Why: of.Replays.Obstacles, AtWork: of.Replays.AtWork}
}

// chosen is the group that the home page is about.
type chosen struct {
	dlq.GroupJSON
	Values    dlq.Values
	ValuesErr string
}

// chosenOf finds a group among all, with the values that are refused. It is nil when there is none: a link may be old.
func (c *Console) chosenOf(ctx context.Context, groups []dlq.GroupJSON, id string) *chosen {
	for _, g := range groups {
		if g.ID == id {
			out := &chosen{GroupJSON: g}
			out.Values, out.ValuesErr = c.refused(ctx, dlqindex.Query{}, g.ID, g.Code)
			return out
		}
	}
	return nil
}

// refused asks for which values today's transform refuses selected dead letters of a group, and says why it is not known.
func (c *Console) refused(ctx context.Context, of dlqindex.Query, group, code string) (dlq.Values, string) {
	values, err := c.letters.Values(ctx, of, deadletters.Group{ID: group, Code: code})
	if err != nil {
		_, err = c.explain(err)
		return dlq.Values{}, err.Error()
	}
	values.Each = values.Each[:min(len(values.Each), pageValues)]
	return values, ""
}

// shownText is a value as a page shows it: a part of it may be marked, and its ends may be left out.
type shownText struct {
	Before, Marked, After string
	CutBefore, CutAfter   bool
}

// mark cuts a value to what a page shows, around the place that an RFC 6901 path names in it.
func mark(text, path string) shownText {
	from, to, found := locate([]byte(text), path)
	if !found {
		from, to = 0, 0
	}
	if to-from > shownValue/2 { // a page marks a value, and no collection
		to = from
	}
	begin := max(0, from-shownValue/4)
	end := min(len(text), begin+shownValue)
	return shownText{Before: text[begin:from], Marked: text[from:to], After: text[to:end], CutBefore: begin > 0, CutAfter: end < len(text)}
}
