package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
	"golang.org/x/sync/singleflight"

	"github.com/switchback-geo/switchback/internal/breaker"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/jsonschema"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// maxMissing bounds the unknown ids in memory: hostile records may name any number of them.
const maxMissing = 4096

// Client asks one registry. It is safe for concurrent use.
type Client struct {
	client  *sr.Client
	rules   config.SchemaRegistry
	flights singleflight.Group
	guard   *breaker.Guard

	mu      sync.Mutex
	found   map[int]answer
	missing map[int]absence    // ids without a schema, until they are requested again
	written map[writing]issued // the schemas of outputs
}

// answer is the schema of an id, or the reason why it cannot be used.
type answer struct {
	schema Schema
	err    error
}

// absence is the state of an id that the registry does not have, or whose answer is too large. A replica of the
// registry may lag a little, so the client soon requests the id again at first.
type absence struct {
	until    time.Time     // when it may be requested again
	pause    time.Duration // since the last answer
	oversize error         // nil for an unknown id
}

// firstPause is the pause after the first answer for an unknown id. It is shorter than the shortest retry of the defaults.
const firstPause = time.Second

// Open returns the client that a pipeline file describes. It reads the secrets and the files that the file names, and
// sends no request to the registry yet. It logs to log when the registry stops answering, and when it answers again.
func Open(c config.SchemaRegistry, log *slog.Logger) (*Client, error) {
	credentials, err := c.Credentials()
	if err != nil {
		return nil, err
	}
	transport, err := newTransport(c.TLS)
	if err != nil {
		return nil, err
	}
	opts := []sr.ClientOpt{
		sr.URLs(c.URLs()...), sr.UserAgent("switchback"), sr.HTTPClient(&http.Client{Timeout: c.Timeout.Std(), Transport: recorder{transport}}),
	}
	switch token := credentials.Token.Reveal(); {
	case token != "":
		opts = append(opts, sr.BearerToken(token))
	case credentials.Username != "":
		opts = append(opts, sr.BasicAuth(credentials.Username, credentials.Password.Reveal()))
	}
	client, err := sr.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("schema_registry: %w", err)
	}
	return &Client{
		client: client, rules: c, found: map[int]answer{}, missing: map[int]absence{}, written: map[writing]issued{},
		guard: newGuard(c.Outage, log),
	}, nil
}

// newTransport returns the transport of a client that trusts the certificates that the file names.
func newTransport(t config.RegistryTLS) (*http.Transport, error) {
	transport := &http.Transport{}
	if usual, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = usual.Clone()
	}
	transport.MaxResponseHeaderBytes = maxAnswerHeader
	if t == (config.RegistryTLS{}) {
		return transport, nil
	}
	var err error
	transport.TLSClientConfig, err = kafka.TLSConfig("schema_registry.tls", config.TLS{
		Enabled: true, CAFile: t.CAFile, CertFile: t.CertFile, KeyFile: t.KeyFile, ServerName: t.ServerName,
	})
	return transport, err
}

// SchemaByID returns the schema of an id, with the schemas that it refers to. The errors are [*Error], *classify.HTTPError for a refused
// login, *avro.SchemaError for a schema that cannot be used, *retrytopics.UnavailableError while the registry does not answer, or the
// context's.
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
	if err := c.guard.Check(); err != nil {
		return nil, err
	}
	flight := c.flights.DoChan(strconv.Itoa(id), func() (any, error) {
		// The first caller may be canceled while others still wait.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxReferences*c.rules.Timeout.Std())
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

// known returns the answer in memory.
func (c *Client) known(id int) (answer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.found[id]; ok {
		return known, true
	}
	if unknown, ok := c.missing[id]; ok && time.Now().Before(unknown.until) {
		if unknown.oversize != nil {
			return answer{err: &retrytopics.UnavailableError{Dependency: dependency, RetryAt: unknown.until, Err: unknown.oversize}}, true
		}
		return answer{err: unknownID(id)}, true
	}
	return answer{}, false
}

// fetch requests a schema and stores the answer.
func (c *Client) fetch(ctx context.Context, id int) (Schema, error) {
	if known, ok := c.known(id); ok { // by another flight meanwhile
		return known.schema, known.err
	}
	var schema Schema
	err := c.guarded(ctx, func(ctx context.Context) (err error) {
		schema, err = c.load(ctx, id)
		return err
	})
	var unusable *avro.SchemaError
	var failure *Error
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil, errors.As(err, &unusable):
		c.found[id] = answer{schema, err}
		delete(c.missing, id)
	case errors.As(err, &failure) && failure.unknown:
		pause := min(max(2*c.missing[id].pause, firstPause), c.rules.Cache.Missing.Std())
		c.miss(id, absence{pause: pause})
	case failure != nil && failure.oversize:
		c.miss(id, absence{pause: c.rules.Outage.Pause.Std(), oversize: failure})
	}
	return schema, err
}

// miss stores an id without a schema. The mutex is held.
func (c *Client) miss(id int, a absence) {
	if len(c.missing) >= maxMissing {
		clear(c.missing)
	}
	a.until = time.Now().Add(a.pause)
	c.missing[id] = a
}

// load requests a schema and those to which it refers.
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

// references collects the schemas that a schema refers to, each after the schemas that it refers to itself.
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
		request := fmt.Sprintf("get version %d of %q", reference.Version, reference.Subject)
		schema, err := r.client.SchemaByVersion(ctx, reference.Subject, reference.Version)
		if err != nil {
			return failed(err, request, 0)
		}
		if schema.Schema.Schema == "" {
			return noAnswer(request+": the answer has no schema", classify.StageDecode, nil)
		}
		if r.bytes += len(schema.Schema.Schema); r.bytes > maxAnswer {
			return oversized(request, classify.StageDecode, errOversize)
		}
		if err := r.follow(ctx, schema.References); err != nil {
			return err
		}
		r.found = append(r.found, jsonschema.Reference{Name: reference.Name, Text: schema.Schema.Schema})
	}
	return nil
}

// Schema reads and writes, as JSON, the values that a schema of the registry describes: an [*avro.Schema], or a JSON Schema.
type Schema interface {
	// Text returns as JSON the value that follows the id of the schema.
	Text(value []byte) ([]byte, error)
	// AppendText appends the value that a JSON text describes. The error names the field that the schema does not accept.
	AppendText(dst, text []byte) ([]byte, error)
}

// Latest requests the ID of the latest schema of a subject. The errors are those of [Client.Schema].
func (c *Client) Latest(ctx context.Context, subject string) (id int, err error) {
	what := "get the latest schema of " + strconv.Quote(subject)
	err = c.guarded(ctx, func(ctx context.Context) error {
		found, err := c.client.SchemaByVersion(ctx, subject, latest)
		id = found.ID
		switch {
		case err != nil:
			return failed(err, what, 0)
		case id <= 0:
			return noAnswer(what+": the answer has no id", classify.StageEncode, nil)
		}
		return nil
	})
	return id, err
}

// latest is the number of the latest version of a subject, for the client.
const latest = -1

// jsonSchema is the [Schema] of values that are JSON themselves.
type jsonSchema struct{ *jsonschema.Schema }

func compileJSON(text string, references []jsonschema.Reference) (Schema, error) {
	schema, err := jsonschema.CompileRegistered([]byte(text), references...)
	if err != nil {
		return nil, &avro.SchemaError{Message: err.Error()}
	}
	return jsonSchema{schema}, nil
}

// Text returns the value unchanged.
func (jsonSchema) Text(value []byte) ([]byte, error) {
	if !json.Valid(value) {
		return nil, errors.New("its schema is a JSON Schema, and the bytes after its id are not JSON")
	}
	return value, nil
}

// AppendText checks the text and appends it unchanged.
func (s jsonSchema) AppendText(dst, text []byte) ([]byte, error) {
	if err := s.Check(text); err != nil {
		return nil, err
	}
	return append(dst, text...), nil
}
