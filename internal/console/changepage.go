package console

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// verbReplay is a verb besides those of [replay.Verbs].
const verbReplay = "replay"

// changeRoutes lists the pages that lead to changes. The pages themselves change nothing.
func changeRoutes() []route {
	verb := param{"verb", "what to do", text, false}
	return []route{
		showing("/change", append(filterParams(), verb), (*Console).changePage),
		showing("/drafts/{id}", nil, (*Console).draftPage),
		showing("/undo/{id}", nil, (*Console).undoPage),
		showing("/go-on/{id}", nil, (*Console).goOnPage),
	}
}

// changeView is the content of the page of a change.
type changeView struct {
	Verb    string
	Filter  string // as JSON, for the form
	Letters int    // dead letters that the change selects
	Changed int    // of an undo: those that it changes
	Groups  []dlq.GroupJSON
	Undoes  string            // operation that an undo reverses
	Was     []audit.Action    // events of that operation in the audit topic
	Left    []replay.LeftBy   // dead letters that an undo leaves unchanged
	GoesOn  string            // ID of the replay that is continued
	Again   int               // of Letters: those that the replay already sent and that are pending again
	Missing []string          // topics that must be created first
	Typed   bool              // the number must be typed
	Reason  string            // proposed
	Outlook []plan.Outcome    // of a dry run
	Summary *plan.Summary     // of a dry run
	Draft   string            // id of the dry run
	Waits   []replay.Obstacle // obstacles that keep the consumer from finishing reinjected records
	Differs bool
	PutBack map[string]int // among Letters to be reopened: how many were already put back, by topic
	Targets map[string]int // of a DLQ without a pipeline: how many go back, by topic
	Mapping []string
	Canary  int
	Planned bool // the dry run has finished
}

func (c *Console) changePage(ctx context.Context, q query) (page, error) {
	verb := q.get("verb")
	if verb != verbReplay && !slices.Contains(replay.Verbs(), replay.Verb(verb)) {
		return page{}, usage("verb: %q; use replay, discard, escalate or reopen", verb)
	}
	selected, err := q.filled("verb").selection(c.now())
	if err != nil {
		return page{}, err
	}
	selected.Filter.Limit = 0
	return c.choosing(ctx, verb, selected.Filter)
}

// choosing shows which dead letters a change selects: their exact number, and their groups.
func (c *Console) choosing(ctx context.Context, verb string, f deadletters.Filter) (page, error) {
	out := c.blank("/", capital(verb)+" dead letters")
	var err error
	if out.Fresh, err = c.reached(ctx); err != nil {
		return page{}, err
	}
	if err := c.maskOf(ctx).filter(f); err != nil {
		return page{}, err
	}
	v := &changeView{Verb: verb}
	if v.Missing, err = c.missing(ctx); err != nil {
		return page{}, err
	}
	chosen, err := selectionOf(verb, f)
	if err != nil {
		return page{}, err
	}
	groups, err := c.letters.Chosen(ctx, chosen)
	if err != nil {
		return page{}, err
	}
	for _, g := range groups {
		v.Letters += g.Count
		if len(v.Groups) < pageRows {
			v.Groups = append(v.Groups, dlq.NewGroupJSON(g))
		}
	}
	c.maskOf(ctx).groups(v.Groups)
	if verb == string(replay.Reopen) {
		before, err := c.changes.service.PutBack(ctx, chosen)
		if err != nil {
			return page{}, err
		}
		v.PutBack = before.Topics
	}
	v.Typed = verb == verbReplay || numberIsTyped(v.Letters)
	encoded, err := json.Marshal(f)
	v.Filter, out.Change = string(encoded), v
	return out, err
}

func (c *Console) missing(ctx context.Context) (names []string, err error) {
	topics, err := c.changes.service.MissingTopics(ctx)
	for _, t := range topics {
		names = append(names, t.Name)
	}
	return names, err
}

func (c *Console) draftPage(ctx context.Context, q query) (page, error) {
	d, err := c.changes.draft(q.id)
	if err != nil {
		return page{}, err
	}
	out := c.blank("/replays", "Dry run "+d.id)
	v := &changeView{Verb: verbReplay, Draft: d.id, Typed: true}
	out.Change = v
	if !d.ended() {
		out.Live = liveWork
		return out, nil
	}
	if d.err != nil {
		return page{}, d.err
	}
	summary := d.plan.Summary()
	v.Planned, v.Summary, v.Outlook, v.Letters = true, &summary, d.plan.Outlook(), d.plan.Changes(false)
	c.maskOf(ctx).outcomes(v.Outlook)
	v.Differs, v.Mapping, v.Targets = d.differs, d.mappings, d.plan.Targets()
	if v.Letters > 20 {
		v.Canary = 10
	}
	if v.Missing, err = c.missing(ctx); err != nil {
		return page{}, err
	}
	v.Waits = c.changes.service.Obstacles(ctx)
	return out, nil
}

func (c *Console) undoPage(ctx context.Context, q query) (page, error) {
	out := c.blank("/audit", "Undo "+q.id)
	fresh, err := c.reached(ctx)
	if err != nil {
		return page{}, err
	}
	result, err := c.changes.service.PreviewUndo(ctx, q.id)
	if err != nil {
		return page{}, err
	}
	was, err := c.changes.service.Actions(ctx, audit.Filter{Operation: q.id})
	if err != nil {
		return page{}, err
	}
	c.maskOf(ctx).actions(was)
	out.Fresh = fresh
	out.Change = &changeView{Verb: "undo", Undoes: q.id, Was: was, Letters: result.Selected, Changed: result.Changed, Left: result.LeftBy, Typed: numberIsTyped(result.Selected)}
	return out, nil
}

// goOnPage selects the dead letters that an unfinished operation did not reach, by the filter in the audit topic.
// Therefore it also works after a restart, and for an operation that a command began.
func (c *Console) goOnPage(ctx context.Context, q query) (page, error) {
	job, err := c.changes.service.Job(ctx, q.id)
	if err != nil {
		return page{}, err
	}
	actions, err := c.changes.service.Actions(ctx, audit.Filter{Operation: q.id})
	if err != nil {
		return page{}, err
	}
	var f deadletters.Filter
	for _, a := range actions {
		if a.Filter != "" && json.Unmarshal([]byte(a.Filter), &f) == nil {
			break
		}
	}
	c.maskOf(ctx).job(&job)
	verb := string(job.Kind)
	known := len(actions) > 0 && (job.IsReplay() || slices.Contains(replay.Verbs(), replay.Verb(verb)))
	if !known {
		return page{}, &fault{exit: cli.ExitNothing, text: "it is unknown which dead letters " + q.id + " chose; continue on the command line: " + job.Command}
	}
	out, err := c.choosing(ctx, verb, f)
	if err == nil {
		out.Change.Reason = job.Reason
		if job.IsReplay() {
			out.Change.GoesOn, out.Change.Again = q.id, max(0, out.Change.Letters-job.NotReached)
		}
	}
	return out, err
}
