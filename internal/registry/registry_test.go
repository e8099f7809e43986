package registry

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/envelope/avro"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

const parcel = `{"type":"record","name":"Parcel","fields":[{"name":"id","type":"long"}]}`

// counted returns a fake registry, its number of requests, and a client.
func counted(t *testing.T) (*srfake.Registry, *atomic.Int64, *Client) {
	t.Helper()
	fake := srfake.New()
	t.Cleanup(fake.Close)
	requests := new(atomic.Int64)
	handler := fake.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return fake, requests, client(t, config.SchemaRegistry{URL: server.URL})
}

// client opens a registry with the defaults of a pipeline file.
func client(t *testing.T, c config.SchemaRegistry) *Client {
	t.Helper()
	return logging(t, c, io.Discard)
}

// logging is client with a log.
func logging(t *testing.T, c config.SchemaRegistry, log io.Writer) *Client {
	t.Helper()
	c.Timeout, c.Cache.Missing = config.Duration(5*time.Second), config.Duration(30*time.Second)
	c.Outage.Failures, c.Outage.Pause = cmp.Or(c.Outage.Failures, 3), cmp.Or(c.Outage.Pause, config.Duration(5*time.Second))
	return must.Get(Open(c, slog.New(slog.NewTextHandler(log, nil))))(t)
}

// A schema is requested once, however many records wait for it.
func TestSchemaByID_is_asked_for_once(t *testing.T) {
	fake, requests, c := counted(t)
	fake.SeedSchema("parcels-value", 1, 7, sr.Schema{Schema: parcel, Type: sr.TypeAvro})
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			schema, err := c.SchemaByID(t.Context(), 7)
			expect.That(t, err == nil && schema.Name() == "Parcel", "got %v, %v", schema, err)
		})
	}
	group.Wait()
	expect.Equal(t, requests.Load(), 1, "requests to the registry")
}

// The references of a schema are requested, too.
func TestSchemaByID_references(t *testing.T) {
	fake, _, c := counted(t)
	fake.SeedSchema("point", 1, 1, sr.Schema{Schema: `{"type":"record","name":"geo.Point","fields":[{"name":"x","type":"double"}]}`, Type: sr.TypeAvro})
	fake.SeedSchema("line", 1, 2, sr.Schema{
		Schema:     `{"type":"record","name":"geo.Line","fields":[{"name":"from","type":"geo.Point"},{"name":"to","type":"geo.Point"}]}`,
		References: []sr.SchemaReference{{Name: "geo.Point", Subject: "point", Version: 1}},
	})
	fake.SeedSchema("event", 1, 3, sr.Schema{
		Schema:     `{"type":"record","name":"geo.Event","fields":[{"name":"a","type":"geo.Line"},{"name":"b","type":"geo.Point"}]}`,
		References: []sr.SchemaReference{{Name: "geo.Line", Subject: "line", Version: 1}, {Name: "geo.Point", Subject: "point", Version: 1}},
	})
	schema, err := c.SchemaByID(t.Context(), 3)
	expect.That(t, err == nil && schema.Name() == "geo.Event" && strings.Contains(schema.Canonical(), `"geo.Point","type":"record"`), "got %v, %v", schema, err)
}

// The schema exists, and a schema that it references does not.
func TestSchemaByID_lost_reference(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/schemas/ids/") {
			_, _ = w.Write([]byte(`{"schema":"\"geo.Line\"","references":[{"name":"geo.Line","subject":"nobody","version":1}]}`))
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error_code":40401,"message":"Subject 'nobody' not found."}`))
	}))
	t.Cleanup(server.Close)
	_, err := client(t, config.SchemaRegistry{URL: server.URL}).SchemaByID(t.Context(), 4)
	expect.That(t, classify.Of(err).Code == classify.CodeSchemaUnknown && strings.Contains(err.Error(), `version 1 of "nobody"`), "got %v", err)
}

// Transient failures are distinguished from permanent ones.
func TestSchemaByID_failures(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "password")
	must.Do(t, os.WriteFile(secret, []byte("secret"), 0o600))
	answer := func(status int, body string) *Client {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Request-ID", "7f3a")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(server.Close)
		return client(t, config.SchemaRegistry{URL: server.URL, Username: "u", PasswordFile: secret})
	}
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(untrusted.Close)
	const closedAddress = "http://127.0.0.1:1" // the port of a closed server may be reused by another process
	for name, c := range map[string]struct {
		client *Client
		code   classify.Code
		class  classify.Class
	}{
		"nobody_there":     {client(t, config.SchemaRegistry{URL: closedAddress}), classify.CodeRegistryUnavailable, classify.RetryBackoff},
		"untrusted":        {client(t, config.SchemaRegistry{URL: untrusted.URL}), classify.CodeTLS, classify.Permanent},
		"500":              {answer(500, `{"error_code":50001,"message":"store"}`), classify.CodeRegistryUnavailable, classify.RetryBackoff},
		"503_of_a_proxy":   {answer(503, `<html>`), classify.CodeRegistryUnavailable, classify.RetryBackoff},
		"429":              {answer(429, `{}`), classify.CodeRegistryUnavailable, classify.RetryBackoff},
		"200_with_no_JSON": {answer(200, `<html>`), classify.CodeRegistryUnavailable, classify.RetryBackoff},
		"404":              {answer(404, `{"error_code":40403,"message":"Schema not found"}`), classify.CodeSchemaUnknown, classify.RetryBackoff},
		"404_of_a_proxy":   {answer(404, `default backend - 404`), classify.CodeRegistryUnavailable, classify.RetryBackoff},
		"404_of_an_API":    {answer(404, `{"message":"no Route matched with those values"}`), classify.CodeRegistryUnavailable, classify.RetryBackoff},
		"200_of_a_health":  {answer(200, `{"status":"starting"}`), classify.CodeRegistryUnavailable, classify.RetryBackoff},
		"200_that_is_long": {answer(200, `{"schema":"`+strings.Repeat("x", maxAnswer)+`"}`), classify.CodeRegistryUnavailable, classify.RetryBackoff},
		"408":              {answer(408, `{}`), classify.CodeRegistryUnavailable, classify.RetryBackoff},
		"400":              {answer(400, `{"message":"no"}`), classify.CodeHTTPBadRequest, classify.Permanent},
		"405":              {answer(405, `{"message":"no"}`), classify.CodeHTTPClientError, classify.Permanent},
		"401":              {answer(401, `{"message":"no"}`), classify.CodeHTTPUnauthorized, classify.Permanent},
		"403":              {answer(403, `{"message":"no"}`), classify.CodeHTTPForbidden, classify.Permanent},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.client.SchemaByID(t.Context(), 7)
			must.That(t, err != nil, "passed")
			f := classify.Of(err)
			expect.That(t, f.Code == c.code && f.Class == c.class, "got %s, %s: %v", f.Code, f.Class, err)
			request, answered := classify.RequestOf(err), classify.ResponseOf(err)
			expect.That(t, request != nil && request.Method == "GET" && strings.HasSuffix(request.URL, "/schemas/ids/7") && request.TookMS >= 1, "S2-5: request %+v", request)
			status, _ := strconv.Atoi(name[:3])
			expect.That(t, status == 0 || answered != nil && answered.Status == status && answered.RequestID == "7f3a" && (answered.Body != "" || status == 200), "S2-5: response %+v", answered)
			expect.That(t, !strings.Contains(err.Error()+request.Text(), "secret"), "the error contains the password: %v", err)
		})
	}
}

// An unusable schema stays unusable, and is not requested again.
func TestSchemaByID_unusable(t *testing.T) {
	fake, requests, c := counted(t)
	fake.SeedSchema("proto", 1, 8, sr.Schema{Schema: `syntax = "proto3";`, Type: sr.TypeProtobuf})
	for range 3 {
		_, err := c.SchemaByID(t.Context(), 8)
		var unusable *avro.SchemaError
		must.That(t, errors.As(err, &unusable) && strings.Contains(err.Error(), "neither Avro nor JSON Schema"), "got %v", err)
	}
	expect.Equal(t, requests.Load(), 1, "requests to the registry")
}

// A JSON Schema decodes and encodes values, with its references. A reader of Avro refuses it.
func TestSchema_C4_jsonSchema(t *testing.T) {
	fake, requests, c := counted(t)
	fake.SeedSchema("status", 1, 1, sr.Schema{Schema: `{"enum":["PAID"]}`, Type: sr.TypeJSON})
	fake.SeedSchema("payment", 1, 2, sr.Schema{
		Schema: `{"properties":{"status":{"$ref":"status.json"}}}`, Type: sr.TypeJSON,
		References: []sr.SchemaReference{{Name: "status.json", Subject: "status", Version: 1}},
	})
	fake.SeedSchema("broken", 1, 3, sr.Schema{Schema: `{"$ref":"file:///etc/passwd"}`, Type: sr.TypeJSON})
	schema := must.Get(c.Schema(t.Context(), 2))(t)
	value, err := schema.AppendText([]byte("id"), []byte(`{"status": "PAID"}`))
	expect.That(t, err == nil && string(value) == `id{"status": "PAID"}`, "%q, %v", value, err)
	_, err = schema.AppendText(nil, []byte(`{"status":"OPEN"}`))
	expect.That(t, err != nil && strings.Contains(err.Error(), "/status: value must be"), "%v", err)
	before := requests.Load()
	_, err = c.SchemaByID(t.Context(), 2)
	var unusable *avro.SchemaError
	expect.That(t, errors.As(err, &unusable) && requests.Load() == before, "%v after %d requests", err, requests.Load()-before)
	_, err = c.Schema(t.Context(), 3)
	expect.That(t, errors.As(err, &unusable) && strings.Contains(err.Error(), "/etc/passwd, which was not supplied"), "%v", err)
}

// An unknown ID is requested again only after a while.
func TestSchemaByID_unknown(t *testing.T) {
	fake, requests, c := counted(t)
	for range 3 {
		_, err := c.SchemaByID(t.Context(), 9)
		must.That(t, classify.Of(err).Code == classify.CodeSchemaUnknown, "got %v", err)
	}
	expect.Equal(t, requests.Load(), 1, "requests to the registry")
	fake.SeedSchema("late", 1, 9, sr.Schema{Schema: parcel})
	c.mu.Lock()
	c.missing[9] = absence{until: time.Now().Add(-time.Second)}
	c.mu.Unlock()
	must.Get(c.SchemaByID(t.Context(), 9))(t)
	for id := range maxMissing + 10 { // hostile records can have any number of IDs
		c.mu.Lock()
		c.missing[1000+id] = absence{until: time.Now()}
		c.mu.Unlock()
	}
	_, err := c.SchemaByID(t.Context(), 10)
	expect.That(t, err != nil && len(c.missing) <= maxMissing, "%d unknown ids are remembered", len(c.missing))
}

// A canceled request does not fail the others.
func TestSchemaByID_one_that_gives_up(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		_, _ = w.Write([]byte(`{"schema":"\"long\""}`))
	}))
	t.Cleanup(server.Close)
	c := client(t, config.SchemaRegistry{URL: server.URL})
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error)
	go func() {
		_, err := c.SchemaByID(ctx, 7)
		gaveUp <- err
	}()
	<-entered
	cancel()
	err := <-gaveUp
	expect.That(t, errors.Is(err, context.Canceled), "got %v", err)
	close(release)
	_, err = c.SchemaByID(t.Context(), 7)
	expect.That(t, err == nil, "got %v", err)
}

// A schema is registered once, however many records are to be written, and an existing schema keeps its ID.
func TestRegister_is_asked_for_once(t *testing.T) {
	fake, requests, c := counted(t)
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			_, err := c.Register(t.Context(), "parcels-value", parcel)
			expect.Do(t, err)
		})
	}
	group.Wait()
	if n := requests.Load(); n < 1 || n > 3 { // the client sends one or two requests for one registration
		t.Errorf("%d requests to the registry", n)
	}
	first := must.Get(c.Register(t.Context(), "parcels-value", parcel))(t)
	other := client(t, config.SchemaRegistry{URL: fake.URL()})
	for name, ask := range map[string]func() (int, error){
		"registered again": func() (int, error) { return other.Register(t.Context(), "parcels-value", parcel) },
		"looked up":        func() (int, error) { return other.Lookup(t.Context(), "parcels-value", parcel) },
		"read as a producer": func() (int, error) {
			s, err := other.SchemaByID(t.Context(), first)
			return map[string]int{"Parcel": first}[s.Name()], err
		},
	} {
		again, err := ask()
		expect.That(t, err == nil && again == first, "%s: it has the id %d instead of %d (%v)", name, again, first, err)
	}
}

// Lookup registers nothing, and its error suggests what to do.
func TestLookup_registers_nothing(t *testing.T) {
	fake, _, c := counted(t)
	_, err := c.Lookup(t.Context(), "parcels-value", parcel)
	f := classify.Of(err)
	expect.That(t, f.Code == classify.CodeSchemaMismatch && f.Class == classify.Permanent && f.Stage == classify.StageEncode && strings.Contains(err.Error(), "output.avro.register"), "got %+v", f)
	_, registered := fake.GetSchema("parcels-value", 1)
	expect.That(t, !registered, "a look-up registered the schema")
}

// A mismatch is permanent and cached. After a transient failure, the registration is repeated.
func TestRegister_failures(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		code   classify.Code
		class  classify.Class
		again  bool
	}{
		"incompatible": {409, classify.CodeSchemaMismatch, classify.Permanent, false},
		"invalid":      {422, classify.CodeSchemaMismatch, classify.Permanent, false},
		"unauthorized": {401, classify.CodeHTTPUnauthorized, classify.Permanent, false},
		"forbidden":    {403, classify.CodeHTTPForbidden, classify.Permanent, false},
		"broken":       {500, classify.CodeRegistryUnavailable, classify.RetryBackoff, true},
		"no_registry":  {200, classify.CodeRegistryUnavailable, classify.RetryBackoff, true},
		"busy":         {429, classify.CodeRegistryUnavailable, classify.RetryBackoff, true},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(`{"error_code":1,"message":"no"}`))
			}))
			t.Cleanup(server.Close)
			client := client(t, config.SchemaRegistry{URL: server.URL})
			var first int
			for i := range 3 {
				_, err := client.Register(t.Context(), "parcels-value", parcel)
				must.That(t, err != nil, "passed")
				f := classify.Of(err)
				expect.That(t, f.Code == c.code && f.Class == c.class && f.Stage == classify.StageEncode, "got %s, %s, %s: %v", f.Code, f.Class, f.Stage, err)
				if i == 0 {
					first = requests
				}
			}
			expect.That(t, (requests > first) == c.again, "%d requests in three attempts, %d in the first", requests, first)
		})
	}
}

// bomb returns n MiB of JSON that compress to a thousandth. A gzip file may have many members, so one MiB is compressed
// once and repeated.
func bomb(t *testing.T, n int) []byte {
	t.Helper()
	member := func(text []byte) []byte {
		var out bytes.Buffer
		zip := gzip.NewWriter(&out)
		must.Get(zip.Write(text))(t)
		must.Do(t, zip.Close())
		return out.Bytes()
	}
	blanks := bytes.Repeat(member(bytes.Repeat([]byte{' '}, 1<<20)), n)
	return slices.Concat(member([]byte(`{"schema":"`)), blanks, member([]byte(`"}`)))
}

// S4-5: an answer that decompresses to more than the maximum is an outage, whatever its status. It defers its record
// at once, and does not prevent requests for other schemas. It is not read to its end: in this test it never ends.
func TestSchemaByID_S4_5_aGzipBombHolds(t *testing.T) {
	packed := bomb(t, 2*maxAnswer>>20)
	for _, status := range []int{200, 404, 422, 500} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var requests atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/7") {
					_, _ = w.Write([]byte(`{"schema":"\"long\""}`))
					return
				}
				requests.Add(1)
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(status)
				_, _ = w.Write(packed)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done() // until the client leaves
			}))
			t.Cleanup(server.Close)
			c := client(t, config.SchemaRegistry{URL: server.URL, Outage: config.RegistryOutage{Pause: config.Duration(time.Hour)}})
			for i := range 5 {
				_, err := c.SchemaByID(t.Context(), 7)
				expect.That(t, i > 0 || errors.Is(err, errOversize), "the first request ends with %v", err)
				deferred, ok := errors.AsType[*retrytopics.UnavailableError](err)
				must.That(t, ok && classify.Of(err).Code == classify.CodeRegistryUnavailable && time.Until(deferred.RetryAt) >= time.Minute, "got %v", err)
			}
			expect.Equal(t, requests.Load(), 1, "requests within the pause")
			_, err := c.SchemaByID(t.Context(), 8)
			expect.That(t, err == nil, "another schema: %v", err)
		})
	}
}

// S4-5: endless headers, and many references that are too large together, are outages too.
func TestSchemaByID_S4_5_everyPartOfAnAnswerIsBounded(t *testing.T) {
	reference := strings.Repeat(" ", maxAnswer/4)
	for name, answer := range map[string]http.HandlerFunc{
		"headers": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 2*maxAnswerHeader))
			_, _ = w.Write([]byte(`{"schema":"\"long\""}`))
		},
		"references": func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/subjects/") {
				_, _ = fmt.Fprintf(w, `{"subject":"s","version":1,"id":2,"schema":"%s\"long\""}`, reference)
				return
			}
			_, _ = w.Write([]byte(`{"schema":"\"long\"","references":[{"name":"a","subject":"a","version":1},{"name":"b","subject":"b","version":1},` +
				`{"name":"c","subject":"c","version":1},{"name":"d","subject":"d","version":1}]}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answer)
			t.Cleanup(server.Close)
			_, err := client(t, config.SchemaRegistry{URL: server.URL}).SchemaByID(t.Context(), 7)
			expect.That(t, err != nil && classify.Of(err).Code == classify.CodeRegistryUnavailable, "got %v", err)
		})
	}
}

// An outage is not a data error: after a few requests without an answer, records are deferred, and the registry is
// only probed. Cached schemas are still used, and the first answer releases the records.
func TestSchemaByID_anOutageDefersRecords(t *testing.T) {
	var requests atomic.Int64
	var down atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"schema":"\"long\""}`))
	}))
	t.Cleanup(server.Close)
	const failures = 4
	c := client(t, config.SchemaRegistry{URL: server.URL, Outage: config.RegistryOutage{Failures: failures, Pause: config.Duration(time.Hour)}})
	must.Get(c.SchemaByID(t.Context(), 1))(t)
	down.Store(true)
	var deferred *retrytopics.UnavailableError
	for i := 1; i <= failures; i++ {
		_, err := c.SchemaByID(t.Context(), 7)
		must.That(t, errors.As(err, &deferred) == (i == failures) && classify.Of(err).Code == classify.CodeRegistryUnavailable, "request %d: %v", i, err)
	}
	before := requests.Load()
	for _, ask := range []func() error{
		func() error { _, err := c.SchemaByID(t.Context(), 8); return err },
		func() error { _, err := c.Register(t.Context(), "parcels-value", parcel); return err },
	} {
		err := ask()
		expect.That(t, errors.As(err, &deferred) && deferred.Dependency != "" && time.Until(deferred.RetryAt) > 0, "got %v", err)
	}
	_, err := c.SchemaByID(t.Context(), 1)
	expect.That(t, err == nil && requests.Load() == before, "a cached schema: %v; %d requests in the outage", err, requests.Load()-before)
	var log strings.Builder
	again := logging(t, config.SchemaRegistry{URL: server.URL, Outage: config.RegistryOutage{Failures: 1, Pause: config.Duration(time.Millisecond)}}, &log)
	_, err = again.SchemaByID(t.Context(), 7)
	expect.That(t, errors.As(err, &deferred), "got %v", err)
	down.Store(false)
	eventually.Until(t.Context(), t, "the end of the deferral after the first answer", func() (bool, string) {
		_, err := again.SchemaByID(t.Context(), 7)
		return err == nil, fmt.Sprint(err)
	})
	for _, word := range []string{"circuit breaker opened", "circuit breaker closed", `dependency="schema registry"`, "503"} {
		expect.That(t, strings.Contains(log.String(), word), "an operator does not read %q: %s", word, &log)
	}
}
