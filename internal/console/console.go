package console

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"github.com/switchback-geo/switchback/internal/access"
	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/replay"
)

// Options are the services behind a [Console].
type Options struct {
	DeadLetters *dlq.Service    // opened with [dlq.Options].Background
	Replays     *replay.Service // nil for a DLQ that is not the pipeline's own
	Changes     *Changes        // nil is read-only; needs Replays
	Access      *access.Gate    // authenticates and authorizes
	Metrics     []string        // host:port of the instances whose breakers are shown
	Now         func() time.Time

	// Explain returns the exit code and the message of an error, as on the command line.
	Explain func(error) (cli.Exit, error)
}

const (
	// patience is how long a request waits for a refresh of the index before it is answered from older data.
	patience = 3 * time.Second
	// firstPatience is how long it waits if the index was never filled. It is shorter than answerTimeout.
	firstPatience = 15 * time.Second
	// rest is how long a refresh counts as current.
	rest = time.Second
	// answerTimeout bounds the work on one answer. refreshTimeout bounds one refresh; the next one continues where it
	// stopped.
	answerTimeout, refreshTimeout = 20 * time.Second, 5 * time.Minute
	// maxRequests is how many requests are served at once.
	maxRequests = 16
)

// Console answers HTTP requests about one DLQ.
type Console struct {
	letters  *dlq.Service
	pipeline *pipeline // nil if no replays are known
	explain  func(error) (cli.Exit, error)
	now      func() time.Time
	index    *refresher
	slots    chan struct{} // one for each request in progress
	openAPI  []byte
	kept     keeper
	changes  *workbench // nil if the console is read-only
	gate     *access.Gate
	metrics  []string // of instances
	shapes   *template.Template
	stop     context.CancelFunc // ends the background work
}

// New prepares a console. The caller must Close it. If ctx ends first, the background work ends.
func New(ctx context.Context, o Options) (*Console, error) {
	c := &Console{letters: o.DeadLetters, explain: o.Explain, now: o.Now, gate: o.Access, metrics: o.Metrics, slots: make(chan struct{}, maxRequests), openAPI: document(routes())}
	if o.Replays != nil {
		c.pipeline = newPipeline(o.Replays)
	}
	var err error
	if c.shapes, err = template.New("").Funcs(c.words()).ParseFS(pageFiles, "page/*.html"); err != nil {
		return nil, fmt.Errorf("read the pages: %w", err)
	}
	ctx, c.stop = context.WithCancel(ctx)
	c.index = &refresher{base: ctx, refresh: o.DeadLetters.Refresh, now: o.Now, patience: patience, rest: rest}
	if o.Changes != nil && o.Replays != nil {
		c.changes = newWorkbench(ctx, o.Replays, *o.Changes)
	}
	return c, nil
}

// Close ends the background work and waits for it: a refresh, and operations of this process.
func (c *Console) Close() {
	c.stop()
	c.index.wait()
	if c.changes != nil {
		c.changes.close()
	}
}

// Handler returns the handler of all requests.
func (c *Console) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range append(routes(), pageRoutes()...) {
		mux.Handle("GET "+r.path, c.serve(r))
	}
	if c.changes != nil {
		changers := c.onlyFor(access.Identity.MayChange, "change")
		for _, r := range changeRoutes() {
			mux.Handle("GET "+r.path, changers(c.serve(r)))
		}
		for path, do := range changeForms() {
			mux.Handle("POST "+path, changers(c.post(do)))
		}
		editors := c.onlyFor(access.Identity.MayEdit, "edit")
		for _, r := range editRoutes() {
			mux.Handle("GET "+r.path, editors(c.serve(r)))
		}
		mux.Handle("POST /edit/{id}", editors(c.form(c.previewEdit)))
		mux.Handle("POST /edit/{id}/save", editors(c.post((*Console).doEdit)))
	}
	if c.gate.HasTokens() {
		mux.HandleFunc("GET "+signInPath, c.signInPage)
		mux.HandleFunc("POST "+signInPath, c.signIn)
		mux.Handle("POST "+signOutPath, c.form(c.signOut))
	}
	for path, kind := range assets() {
		text, _ := pageFiles.ReadFile("page" + path) // every test of a page would notice a missing file
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			if kind == fontType {
				w.Header().Set("Cache-Control", "max-age=86400")
			}
			send(w, http.StatusOK, kind, text)
		})
	}
	mux.HandleFunc("/api/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		send(w, http.StatusOK, "application/json", c.openAPI)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		c.failed(w, r, &fault{exit: cli.ExitNothing, text: "there is no " + r.URL.Path + "; /api/openapi.json lists all paths"})
	})
	return c.guard(mux)
}

// parse reads a request and checks that its sender may make it.
func (c *Console) parse(r route, req *http.Request) (query, error) {
	who := whoAsks(req.Context())
	if r.exports && !c.gate.MayExport(who) {
		return query{}, &fault{exit: cli.ExitRefused, status: http.StatusForbidden, code: "role", text: fmt.Sprintf("%s may not export dead letters: the role is %s", who.Name, who.Role)}
	}
	q, err := r.parse(req)
	if err == nil {
		err = c.maskOf(req.Context()).allows(r, q)
	}
	return q, err
}

// serve returns the handler of a route.
func (c *Console) serve(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		q, err := c.parse(r, req)
		if err == nil {
			err = r.send(c, w, req, q)
		}
		if err != nil {
			c.failed(w, req, err)
		}
	})
}
