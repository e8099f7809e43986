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

// state is the first line of the home page: the state of the pipeline.
type state struct {
	Word   flow
	Why    []string // why records do not flow, or why that is unknown
	AtWork string   // who changes dead letters at present
	Flow   *flowView
}

// flowView is the home page's view of records in flight.
type flowView struct {
	replay.Flow
	Others  []status.Member // instances whose mapping differs from the pipeline file
	Unknown []string        // instances whose mapping is unknown
	Asked   []status.Instance
	Read    string // when it was read
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

// dueText formats when the first record of a retry topic is due. A few seconds late are normal.
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

// flow is whether records flow. It is a closed list.
type flow string

const (
	flowing    flow = "Running"     // an instance runs, and the pipeline is not paused
	flowPaused flow = "Paused"      // reinjected records wait for an operator
	notRunning flow = "Not running" // no instance runs
	notKnown   flow = "Not known"
)

// flowOf returns the word for the consumer's obstacle. If there are several obstacles, it is the one to remove first.
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

// Class returns the CSS class of the word.
func (f flow) Class() string {
	return map[flow]string{flowing: "good", flowPaused: "paused", notRunning: "attention"}[f]
}

// state reads whether records flow. A page waits for it no longer than for a refresh of the index, and does not fail for
// it.
func (c *Console) state(ctx context.Context) *state {
	if c.pipeline == nil || c.letters.Alone() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.index.patience)
	defer cancel()
	of, err := c.replays(ctx, query{})
	if err != nil {
		_, err = c.explain(err)
		return &state{Word: notKnown, Why: []string{"it is unknown whether records flow: " + err.Error()}}
	}
	out := &state{Word: flowOf(of.Replays.Obstacles), AtWork: of.Replays.AtWork}
	for _, o := range of.Replays.Obstacles {
		out.Why = append(out.Why, o.Text)
	}
	moves, err := c.flow(ctx, query{})
	if err != nil {
		_, err = c.explain(err)
		out.Why = append(out.Why, "it is unknown which records wait: "+err.Error())
	}
	out.Flow = newFlowView(moves)
	return out
}

// chosen is the selected group of the home page.
type chosen struct {
	dlq.GroupJSON
	Values    []dlq.Value // most frequent first
	Asked     int         // dead letters that were judged, the oldest
	Failing   int         // of these, the ones that today's transform refuses
	Places    int         // number of further dead letters that are refused for another position in their geometry
	ValuesErr string
	Trend     *trend
}

// chosenOf returns the selected group with the values for which today's transform refuses its dead letters. It returns
// nil if the group does not exist: a link may be old.
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
			out.Asked, out.Failing = values.Asked, values.Failing
			out.Values, out.Places = withoutPlaces(values.Each)
			return out
		}
	}
	return nil
}

// withoutPlaces returns the values that a page shows of a group. It keeps one coordinate and counts the other dead
// letters, because each geometry is refused at a different position.
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

// shownText is a value on a page. A part of it may be marked, and its ends may be cut.
type shownText struct {
	Before, Marked, After string
	CutBefore, CutAfter   bool
}

// mark cuts a value to the size that a page shows, around the place that an RFC 6901 path names.
func mark(text, path string) shownText {
	from, to, found := locate([]byte(text), path)
	if !found {
		from, to = 0, 0
	}
	if to-from > shownValue/2 { // a page marks a single value, not a collection
		to = from
	}
	begin := max(0, from-shownValue/4)
	end := min(len(text), begin+shownValue)
	return shownText{Before: text[begin:from], Marked: text[from:to], After: text[to:end], CutBefore: begin > 0, CutAfter: end < len(text)}
}
