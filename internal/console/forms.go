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
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/jobs"
	"github.com/switchback-geo/switchback/internal/replay/operation"
)

// act executes a form, and returns the address of the page that shows the result.
type act func(*Console, *http.Request, consent) (string, error)

// changeForms lists the forms that a browser may post.
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
	return c.begin(r.Context(), string(verb), f, "", said, func(ctx context.Context, call operation.Call) error {
		_, err := c.changes.service.Change(ctx, f, verb, call, said.confirm)
		return err
	})
}

func (c *Console) doUndo(r *http.Request, said consent) (string, error) {
	id := r.PathValue("id")
	return c.begin(r.Context(), "undo", deadletters.Filter{}, id, said, func(ctx context.Context, call operation.Call) error {
		_, err := c.changes.service.Undo(ctx, id, call, said.confirm)
		return err
	})
}

// begin checks consent and starts an operation other than a replay under a new ID. It returns the page that shows the
// operation.
func (c *Console) begin(ctx context.Context, verb string, of deadletters.Filter, undoes string, said consent, do func(context.Context, operation.Call) error) (string, error) {
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

// doOrder pauses, resumes or cancels a job of any process.
func (c *Console) doOrder(r *http.Request, said consent) (string, error) {
	id, verb := r.PathValue("id"), control.JobVerb(r.PathValue("order"))
	if !slices.Contains(control.JobVerbs(), verb) {
		return "", usage("there is no order %q for a job; there are pause, resume and cancel", string(verb))
	}
	_, err := c.changes.service.OrderJob(r.Context(), id, said.by, verb)
	if refused, is := errors.AsType[*jobs.OrderError](err); is {
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

// shows returns the page of a started operation. It waits a moment for the operation to begin or end.
func (c *Console) shows(ctx context.Context, id string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	wait(ctx, c.changes.act(id).done)
	return "/replays/" + url.PathEscape(id), nil
}

// wait waits until done is closed, at most for atOnce.
func wait(ctx context.Context, done <-chan struct{}) {
	moment := time.NewTimer(atOnce)
	defer moment.Stop()
	select {
	case <-done:
	case <-moment.C:
	case <-ctx.Done():
	}
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
