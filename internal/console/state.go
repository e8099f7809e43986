package console

import (
	"context"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/status"
)

// state is what the first line of the home page says about the pipeline.
type state struct {
	Word   flow
	Why    []string // records do not flow, or it is not known
	AtWork string   // who changes dead letters at present
	Flow   *flowView
}

// flowView is what the home page says of the records on their way.
type flowView struct {
	replay.Flow
	Others  []status.Member // instances with another mapping than the pipeline file
	Unknown []string        // instances of which that is not known
	Asked   []status.Instance
	Read    string // when
}

func newFlowView(of FlowAnswer) *flowView {
	f := of.Flow
	if f == nil {
		return nil
	}
	v := &flowView{Flow: *f, Asked: of.Instances, Read: of.Fresh.At}
	for _, m := range f.Members {
		switch m.Mapping {
		case f.Mapping:
		case "":
			v.Unknown = append(v.Unknown, m.Name)
		default:
			v.Others = append(v.Others, m)
		}
	}
	return v
}

// dueText says when the first record of a retry topic is due. Some seconds late are those in which it is taken.
func dueText(due, now time.Time) (text string, late bool) {
	switch in := due.Sub(now); {
	case in > 0:
		return "next due in " + span(in), false
	case in > -10*time.Second:
		return "due now", false
	default:
		return "overdue for " + span(-in), true
	}
}

// flow says in a word whether records flow. It is a closed list.
type flow string

const (
	flowing    flow = "Running"     // an instance runs, and nobody paused it
	flowPaused flow = "Paused"      // an instance runs or is started, and what goes back waits for an operator
	notRunning flow = "Not running" // no instance runs
	notKnown   flow = "Not known"
)

// flowOf returns the word for what keeps the consumer from its work. Where several things do, it is what has to be done first.
func flowOf(obstacles []replay.Obstacle) flow {
	word := flowing
	for _, o := range obstacles {
		switch o.Kind {
		case replay.NothingRuns:
			return notRunning
		case replay.Paused:
			word = flowPaused
		case replay.Unknown:
			if word == flowing {
				word = notKnown
			}
		}
	}
	return word
}

// Class names the colours of the word.
func (f flow) Class() string {
	return map[flow]string{flowing: "good", flowPaused: "paused", notRunning: "attention"}[f]
}

// state asks whether records flow. A page waits for the answer no longer than for a refresh of the index: it is worth no error.
func (c *Console) state(ctx context.Context) *state {
	if c.pipeline == nil || c.letters.Alone() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.index.patience)
	defer cancel()
	of, err := c.replays(ctx, query{})
	if err != nil {
		_, err = c.explain(err)
		return &state{Word: notKnown, Why: []string{"it is not known whether records flow: " + err.Error()}}
	}
	out := &state{Word: flowOf(of.Replays.Obstacles), AtWork: of.Replays.AtWork}
	for _, o := range of.Replays.Obstacles {
		out.Why = append(out.Why, o.Text)
	}
	moves, err := c.flow(ctx, query{})
	if err != nil {
		_, err = c.explain(err)
		out.Why = append(out.Why, "it is not known what is on its way: "+err.Error())
	}
	out.Flow = newFlowView(moves)
	return out
}

// chosen is the group that the home page is about.
type chosen struct {
	dlq.GroupJSON
	Values    []dlq.Value // the most frequent first
	Places    int         // dead letters beside them that are refused for another place in their geometry
	ValuesErr string
	Trend     *trend
}

// chosenOf finds a group among all, with the values for which today's transform refuses its dead letters. It is nil when there is none: a link may be old.
func (c *Console) chosenOf(ctx context.Context, groups []dlq.GroupJSON, id string) *chosen {
	for _, g := range groups {
		if g.ID == id {
			out := &chosen{GroupJSON: g, Trend: c.trendOf(ctx, g)}
			values, err := c.letters.Values(ctx, dlqindex.Query{}, deadletters.Group{ID: g.ID, Code: g.Code})
			if err != nil {
				_, err = c.explain(err)
				out.ValuesErr = err.Error()
			}
			c.maskOf(ctx).values(values.Each)
			out.Values, out.Places = withoutPlaces(values.Each)
			return out
		}
	}
	return nil
}

// withoutPlaces returns the values that a page shows of a group. Of coordinates it shows one, and counts the dead letters with others:
// each geometry is refused at a place of its own, and a list of them says nothing.
func withoutPlaces(values []dlq.Value) (shown []dlq.Value, places int) {
	located := false
	for _, v := range values {
		ofGeometry := strings.HasPrefix(v.Path, "/geometry/")
		switch {
		case ofGeometry && located:
			places += v.Letters
		case len(shown) < pageValues:
			shown = append(shown, v)
		}
		located = located || ofGeometry
	}
	return shown, places
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
