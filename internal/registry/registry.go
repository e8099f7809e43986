package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
	"golang.org/x/sync/singleflight"

	"github.com/switchback-geo/switchback/internal/jsonschema"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
)

// Options say where the registry is. Secrets come from the environment or from
// files; that is the configuration's part.
type Options struct {
	// URLs are those of the registry's servers, at least one. They are tried in
	// turn.
	URLs []string

	// Username and Password are for basic authentication, Token is a bearer token.
	Username, Password, Token string

	// TLS is nil for the system's.
	TLS *tls.Config

	// Timeout bounds one request. Defaults to 5 s.
	Timeout time.Duration

	// Missing is the longest time that an unknown id is not asked for again. The first time is a second, and each answer that it
	// is unknown doubles it. Defaults to 30 s.
	Missing time.Duration

	// OutageFailures is how many requests in a row must fail transiently before nothing is asked for OutagePause.
	// Default to 3 and 5 s.
	OutageFailures int
	OutagePause    time.Duration
}

// maxMissing bounds the unknown ids that are remembered: hostile records may name
// any number of them.
const maxMissing = 4096

// Client asks one registry. It may be used by many goroutines at once.
type Client struct {
	client  *sr.Client
	options Options
	flights singleflight.Group
	outage  outage

	mu      sync.Mutex
	found   map[int]answer
	missing map[int]absence    // ids without a schema, for a while
	written map[writing]issued // the schemas that outputs are written with
}

// answer is what an id stands for: a schema, or why it is none that can be used.
type answer struct {
	schema Schema
	err    error
}

// absence is an id that the registry does not know, or that it answers with more than an answer may have. A replica of the
// registry may be behind by a moment, so it is asked again soon at first.
type absence struct {
	until    time.Time     // when it may be asked for again
	pause    time.Duration // that led there
	oversize error         // nil for an unknown id
}

// firstPause is how long an unknown id is not asked for after its first answer: less than the shortest retry of the defaults.
const firstPause = time.Second

// New makes a client. It asks nothing yet.
func New(o Options) (*Client, error) {
	if len(o.URLs) == 0 {
		return nil, errors.New("schema registry: no URL is given")
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Missing <= 0 {
		o.Missing = 30 * time.Second
	}
	if o.OutageFailures <= 0 {
		o.OutageFailures = defaultOutageFailures
	}
	if o.OutagePause <= 0 {
		o.OutagePause = defaultOutagePause
	}
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		transport = &http.Transport{}
	}
	transport = transport.Clone()
	transport.TLSClientConfig, transport.MaxResponseHeaderBytes = o.TLS, maxAnswerHeader
	opts := []sr.ClientOpt{
		sr.URLs(o.URLs...), sr.UserAgent("switchback"), sr.HTTPClient(&http.Client{Timeout: o.Timeout, Transport: recorder{transport}}),
	}
	switch {
	case o.Token != "":
		opts = append(opts, sr.BearerToken(o.Token))
	case o.Username != "":
		opts = append(opts, sr.BasicAuth(o.Username, o.Password))
	}
	client, err := sr.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("schema registry: %w", err)
	}
	return &Client{client: client, options: o, found: map[int]answer{}, missing: map[int]absence{}, written: map[writing]issued{}, outage: outage{limit: o.OutageFailures, pause: o.OutagePause}}, nil
}

// SchemaByID returns the schema of an id, with what it refers to. The errors are
// [*Error], *classify.HTTPError for a refused login, *avro.SchemaError for an id
// whose schema cannot be used, *retrytopics.UnavailableError while the registry has not
// answered several times in a row, or the context's.
func (c *Client) SchemaByID(ctx context.Context, id int) (*avro.Schema, error) {
	schema, err := c.Schema(ctx, id)
	if err != nil {
		return nil, err
	}
	if schema, ok := schema.(*avro.Schema); ok {
		return schema, nil
	}
	return nil, &avro.SchemaError{Message: "it is a JSON Schema, not Avro"}
}

// Schema is [Client.SchemaByID] for schemas of Avro and JSON Schemas alike.
func (c *Client) Schema(ctx context.Context, id int) (Schema, error) {
	if known, ok := c.known(id); ok {
		return known.schema, known.err
	}
	if err := c.outage.refusal(); err != nil {
		return nil, err
	}
	flight := c.flights.DoChan(strconv.Itoa(id), func() (any, error) {
		// Whoever asked first may leave; the others still wait.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxReferences*c.options.Timeout)
		defer cancel()
		return c.fetch(ctx, id)
	})
	select {
	case result := <-flight:
		schema, _ := result.Val.(Schema)
		return schema, result.Err
	case <-ctx.Done():
		return nil, fmt.Errorf("schema registry: wait for schema %d: %w", id, ctx.Err())
	}
}

// known returns what is remembered of an id.
func (c *Client) known(id int) (answer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.found[id]; ok {
		return known, true
	}
	if unknown, ok := c.missing[id]; ok && time.Now().Before(unknown.until) {
		if unknown.oversize != nil {
			return answer{err: held(unknown.until, unknown.oversize)}, true
		}
		return answer{err: unknownID(id)}, true
	}
	return answer{}, false
}

// fetch asks for a schema and remembers what it is.
func (c *Client) fetch(ctx context.Context, id int) (Schema, error) {
	if known, ok := c.known(id); ok { // by a flight that landed in between
		return known.schema, known.err
	}
	ctx, asked := recorded(ctx)
	schema, err := c.load(ctx, id)
	err = c.outage.note(asked.mark(err))
	var unusable *avro.SchemaError
	var failure *Error
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil, errors.As(err, &unusable):
		c.found[id] = answer{schema, err}
		delete(c.missing, id)
	case errors.As(err, &failure) && failure.unknown:
		pause := min(max(2*c.missing[id].pause, firstPause), c.options.Missing)
		c.miss(id, absence{pause: pause})
	case failure != nil && failure.oversize:
		c.miss(id, absence{pause: c.options.OutagePause, oversize: failure})
	}
	return schema, err
}

// miss notes an id without a schema. The mutex is held.
func (c *Client) miss(id int, a absence) {
	if len(c.missing) >= maxMissing {
		clear(c.missing)
	}
	a.until = time.Now().Add(a.pause)
	c.missing[id] = a
}

// load asks for a schema and for those that it refers to.
func (c *Client) load(ctx context.Context, id int) (Schema, error) {
	schema, err := c.client.SchemaByID(ctx, id)
	if err != nil {
		return nil, failed(err, "get schema "+strconv.Itoa(id), id)
	}
	if schema.Schema == "" {
		return nil, noAnswer("get schema "+strconv.Itoa(id)+": the answer has no schema", classify.StageDecode, nil)
	}
	if schema.Type != sr.TypeAvro && schema.Type != sr.TypeJSON {
		return nil, &avro.SchemaError{Message: "it is of type " + schema.Type.String() + ", neither Avro nor JSON Schema"}
	}
	r := references{client: c.client, seen: map[sr.SchemaReference]bool{}}
	if err := r.follow(ctx, schema.References); err != nil {
		return nil, err
	}
	if schema.Type == sr.TypeJSON {
		return compileJSON(schema.Schema, r.found)
	}
	texts := make([]string, len(r.found))
	for i, f := range r.found {
		texts[i] = f.Text
	}
	parsed, err := avro.Parse(schema.Schema, texts...)
	if err != nil {
		return nil, fmt.Errorf("schema %d: %w", id, err)
	}
	return parsed, nil
}

// maxReferences bounds the schemas that one schema refers to.
const maxReferences = 32

// references collects the schemas that a schema refers to, each after those that
// it refers to itself.
type references struct {
	client *sr.Client
	seen   map[sr.SchemaReference]bool
	found  []jsonschema.Reference
	bytes  int // of the texts
}

func (r *references) follow(ctx context.Context, list []sr.SchemaReference) error {
	for _, reference := range list {
		key := sr.SchemaReference{Subject: reference.Subject, Version: reference.Version}
		if r.seen[key] {
			continue
		}
		r.seen[key] = true
		if len(r.seen) > maxReferences {
			return &avro.SchemaError{Message: "it refers to more than " + strconv.Itoa(maxReferences) + " schemas"}
		}
		asked := fmt.Sprintf("get version %d of %q", reference.Version, reference.Subject)
		schema, err := r.client.SchemaByVersion(ctx, reference.Subject, reference.Version)
		if err != nil {
			return failed(err, asked, 0)
		}
		if schema.Schema.Schema == "" {
			return noAnswer(asked+": the answer has no schema", classify.StageDecode, nil)
		}
		if r.bytes += len(schema.Schema.Schema); r.bytes > maxAnswer {
			return oversized(asked, classify.StageDecode, errOversize)
		}
		if err := r.follow(ctx, schema.References); err != nil {
			return err
		}
		r.found = append(r.found, jsonschema.Reference{Name: reference.Name, Text: schema.Schema.Schema})
	}
	return nil
}
