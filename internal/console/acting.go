package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/control"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// verbReplay stands beside the verbs of [replay.Verbs].
const verbReplay = "replay"

// changeRoutes lists the pages that lead to changes. They change nothing themselves.
func changeRoutes() []route {
	verb := param{"verb", "what is to be done", text, false}
	return []route{
		showing("/change", append(filterParams(), verb), (*Console).changePage),
		showing("/drafts/{id}", nil, (*Console).draftPage),
		showing("/undo/{id}", nil, (*Console).undoPage),
		showing("/go-on/{id}", nil, (*Console).goOnPage),
	}
}

// act does what a form asks for, and returns the address of the page that shows it.
type act func(*Console, *http.Request, consent) (string, error)

// changeForms lists what a browser may post.
func changeForms() map[string]act {
	return map[string]act{
		"/change":               (*Console).doChange,
		"/dry-run":              (*Console).doDryRun,
		"/drafts/{id}":          (*Console).doReplay,
		"/undo/{id}":            (*Console).doUndo,
		"/replays/{id}/{order}": (*Console).doOrder,
		"/notes/{id}":           (*Console).doNote,
	}
}

// changeView is what the page of a change shows.
type changeView struct {
	Verb    string
	Filter  string // as JSON, for the form
	Letters int    // that are changed, or left
	Changed int    // of an undo: those of them that are changed
	Groups  []dlq.GroupJSON
	Undoes  string            // operation that is taken back
	Was     []replay.Action   // what the audit topic has of it
	Left    []replay.LeftBy   // of what an undo leaves
	GoesOn  string            // id of the replay that goes on
	Again   int               // of Letters: those that it reached, and that are pending again
	Missing []string          // topics that have to be made first
	Typed   bool              // the number has to be typed
	Reason  string            // proposed
	Outlook []plan.Outcome    // of a dry run
	Summary *plan.Summary     // of a dry run
	Draft   string            // id of the dry run
	Waits   []replay.Obstacle // what keeps the consumer from finishing what goes back
	Differs bool
	PutBack map[string]int // of Letters that are to be reopened: how many were put back into which topic already
	Targets map[string]int // of a DLQ without a pipeline: how many go back to which topic
	Mapping []string
	Canary  int
	Planned bool // the dry run has ended
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

// choosing shows which dead letters a change is about: exactly how many, and of which groups.
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
	was, err := c.changes.service.Actions(ctx, replay.TrailFilter{Operation: q.id})
	if err != nil {
		return page{}, err
	}
	c.maskOf(ctx).actions(was)
	out.Fresh = fresh
	out.Change = &changeView{Verb: "undo", Undoes: q.id, Was: was, Letters: result.Selected, Changed: result.Changed, Left: result.LeftBy, Typed: numberIsTyped(result.Selected)}
	return out, nil
}

// goOnPage chooses what an operation that ended before its end did not reach: by the filter that the audit topic has of it, so also after
// a restart, and of one that a command began.
func (c *Console) goOnPage(ctx context.Context, q query) (page, error) {
	job, err := c.changes.service.Job(ctx, q.id)
	if err != nil {
		return page{}, err
	}
	actions, err := c.changes.service.Actions(ctx, replay.TrailFilter{Operation: q.id})
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
		return page{}, &fault{exit: cli.ExitNothing, text: "it is not known which dead letters " + q.id + " chose; go on at the command line: " + job.Command}
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

// posted reads the consent of a form.
func posted(r *http.Request) (consent, error) {
	form := r.PostForm
	c := consent{by: whoAsks(r.Context()).Name, reason: form.Get("reason"), typed: form.Get("typed"), create: form.Get("create") == "on", mappingDiffers: form.Get("mapping_differs") == "on", targets: form.Get("targets") == "on", putBack: form.Get("put_back") == "on"}
	for name, to := range map[string]*int{"expect": &c.expect, "canary": &c.canary} {
		if text := strings.TrimSpace(form.Get(name)); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return c, usage("%s: %q; use a whole number", name, text)
			}
			*to = n
		}
	}
	return c, nil
}

// selectedBy reads the filter of a form.
func (c *Console) selectedBy(r *http.Request) (f deadletters.Filter, err error) {
	d := json.NewDecoder(strings.NewReader(r.PostForm.Get("filter")))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return f, usage("read the filter of the form: %w", err)
	}
	if err := f.Check(); err != nil {
		return f, usage("%w", err)
	}
	return f, c.maskOf(r.Context()).filter(f)
}

func (c *Console) doDryRun(r *http.Request, said consent) (string, error) {
	f, err := c.selectedBy(r)
	if err != nil {
		return "", err
	}
	d, err := c.changes.dryRun(f, r.PostForm.Get("goes_on"), said.by)
	if err != nil {
		return "", err
	}
	wait(r.Context(), d.done)
	return "/drafts/" + url.PathEscape(d.id), nil
}

func (c *Console) doReplay(r *http.Request, said consent) (string, error) {
	d, err := c.changes.draft(r.PathValue("id"))
	if err != nil {
		return "", err
	}
	return c.shows(r.Context(), d.id, c.changes.replay(r.Context(), d, said))
}

// doChange discards, escalates or reopens.
func (c *Console) doChange(r *http.Request, said consent) (string, error) {
	verb := replay.Verb(r.PostForm.Get("verb"))
	if !slices.Contains(replay.Verbs(), verb) {
		return "", usage("verb: %q; use one of %v", string(verb), replay.Verbs())
	}
	f, err := c.selectedBy(r)
	if err != nil {
		return "", err
	}
	return c.begin(r.Context(), string(verb), f, "", said, func(ctx context.Context, call replay.Call) error {
		_, err := c.changes.service.Change(ctx, f, verb, call, said.confirm)
		return err
	})
}

func (c *Console) doUndo(r *http.Request, said consent) (string, error) {
	id := r.PathValue("id")
	return c.begin(r.Context(), "undo", deadletters.Filter{}, id, said, func(ctx context.Context, call replay.Call) error {
		_, err := c.changes.service.Undo(ctx, id, call, said.confirm)
		return err
	})
}

// begin starts an operation besides a replay, under a new id, if it was consented to. It returns the page that shows the operation.
func (c *Console) begin(ctx context.Context, verb string, of deadletters.Filter, undoes string, said consent, do func(context.Context, replay.Call) error) (string, error) {
	if err := said.check(said.expect, numberIsTyped(said.expect)); err != nil {
		return "", err
	}
	if err := c.changes.topics(ctx, said); err != nil {
		return "", err
	}
	call := c.changes.call(verb, of, undoes, said)
	call.Operation, call.IncludingPutBack = c.changes.service.NewOperation(verb), said.putBack
	err := c.changes.start(call.Operation, func(ctx context.Context) error { return do(ctx, call) })
	return c.shows(ctx, call.Operation, err)
}

// doOrder pauses, resumes or cancels a job, of whatever process.
func (c *Console) doOrder(r *http.Request, said consent) (string, error) {
	id, verb := r.PathValue("id"), control.JobVerb(r.PathValue("order"))
	if !slices.Contains(control.JobVerbs(), verb) {
		return "", usage("there is no order %q for a job; there are pause, resume and cancel", string(verb))
	}
	_, err := c.changes.service.OrderJob(r.Context(), id, said.by, verb)
	if refused, is := errors.AsType[*replay.JobOrderError](err); is {
		err = &fault{exit: cli.ExitNothing, text: refused.Error()}
	}
	return "/replays/" + url.PathEscape(id), err
}

// doNote writes a note on a group.
func (c *Console) doNote(r *http.Request, said consent) (string, error) {
	var seen time.Time
	if text := r.PostForm.Get("seen"); text != "" {
		var err error
		if seen, err = time.Parse(time.RFC3339, text); err != nil {
			return "", usage("seen: %w", err)
		}
	}
	if c.maskOf(r.Context()) != nil {
		return "", hidden("notes")
	}
	id := r.PathValue("id")
	return "/?" + url.Values{"group": {id}}.Encode(), c.letters.WriteNote(r.Context(), id, strings.ReplaceAll(r.PostForm.Get("note"), "\r\n", "\n"), said.by, &seen)
}

// shows returns the page of an operation that was started, once it has begun or ended where that is soon.
func (c *Console) shows(ctx context.Context, id string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	wait(ctx, c.changes.act(id).done)
	return "/replays/" + url.PathEscape(id), nil
}

// wait waits for a moment.
func wait(ctx context.Context, done <-chan struct{}) {
	moment := time.NewTimer(atOnce)
	defer moment.Stop()
	select {
	case <-done:
	case <-moment.C:
	case <-ctx.Done():
	}
}

// acting shows an operation of this process of which no topic knows yet, or why it did not begin.
func (c *Console) acting(id string, report ReplayAnswer, unknown error) (page, error) {
	out := c.blank("/replays", id)
	out.Fresh, out.Replay = report.Fresh, &report
	var a *task
	if c.changes != nil {
		a = c.changes.act(id)
	}
	switch {
	case a != nil && a.ended() && a.err != nil && unknown != nil:
		return page{}, a.err
	case a != nil && !a.ended():
		report.Replay.ReplayID = id
		out.Live = liveWork
		return out, nil
	case unknown != nil:
		return page{}, unknown
	case a != nil && a.err != nil:
		_, said := c.explain(a.err)
		out.ActError = said.Error()
	}
	if report.Replay.UnderWay > 0 || report.Replay.Job != nil && !report.Replay.Job.State.Ended() {
		out.Live = liveWork
	}
	return out, nil
}

// post returns the handler of a form that changes something.
func (c *Console) post(do act) http.Handler {
	return c.form(func(w http.ResponseWriter, r *http.Request) error {
		said, err := posted(r)
		if err != nil {
			return err
		}
		to, err := do(c, r, said)
		c.kept.forget()
		if err == nil {
			http.Redirect(w, r, to, http.StatusSeeOther)
		}
		return err
	})
}
