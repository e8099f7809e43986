package registry

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// bomb is n MiB of JSON that compress to a thousandth of that. A gzip file may have many members, so one MiB is compressed
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

// S4-5: an answer that decompresses to more than an answer of a registry may have is an outage, whatever its status. It holds
// its record at the first time, is not read to its end, and does not keep other schemas from being asked for.
func TestSchemaByID_S4_5_aGzipBombHolds(t *testing.T) {
	packed := bomb(t, 256)
	for _, status := range []int{200, 404, 422, 500} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var asked atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/7") {
					_, _ = w.Write([]byte(`{"schema":"\"long\""}`))
					return
				}
				asked.Add(1)
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(status)
				_, _ = w.Write(packed)
			}))
			t.Cleanup(server.Close)
			c := client(t, Options{URLs: []string{server.URL}, OutagePause: time.Hour})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range 5 {
				_, err := c.SchemaByID(t.Context(), 7)
				held, ok := errors.AsType[*retrytopics.UnavailableError](err)
				must.That(t, ok && classify.Of(err).Code == classify.CodeRegistryUnavailable && time.Until(held.RetryAt) >= time.Minute, "got %v", err)
			}
			runtime.ReadMemStats(&after)
			grown := after.TotalAlloc - before.TotalAlloc
			expect.That(t, grown <= 8*maxAnswer, "%d MiB were allocated", grown>>20)
			expect.Equal(t, asked.Load(), 1, "requests within the pause")
			_, err := c.SchemaByID(t.Context(), 8)
			expect.That(t, err == nil, "another schema: %v", err)
		})
	}
}

// S4-5: so are headers without end, and many references that are too much together.
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
			_, err := client(t, Options{URLs: []string{server.URL}}).SchemaByID(t.Context(), 7)
			expect.That(t, err != nil && classify.Of(err).Code == classify.CodeRegistryUnavailable, "got %v", err)
		})
	}
}

// An outage is not a data error: after a few requests without an answer, records are held, and the registry is left in
// peace. What is known goes on; and the first answer ends the hold.
func TestSchemaByID_anOutageHoldsRecords(t *testing.T) {
	var asked atomic.Int64
	var down atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"schema":"\"long\""}`))
	}))
	t.Cleanup(server.Close)
	const failures = 4
	c := client(t, Options{URLs: []string{server.URL}, OutageFailures: failures, OutagePause: time.Hour})
	must.Get(c.SchemaByID(t.Context(), 1))(t)
	down.Store(true)
	var held *retrytopics.UnavailableError
	for i := 1; i <= failures; i++ {
		_, err := c.SchemaByID(t.Context(), 7)
		must.That(t, errors.As(err, &held) == (i == failures) && classify.Of(err).Code == classify.CodeRegistryUnavailable, "request %d: %v", i, err)
	}
	before := asked.Load()
	for _, ask := range []func() error{
		func() error { _, err := c.SchemaByID(t.Context(), 8); return err },
		func() error { _, err := c.Register(t.Context(), "parcels-value", parcel); return err },
	} {
		err := ask()
		expect.That(t, errors.As(err, &held) && held.Dependency != "" && time.Until(held.RetryAt) > 0, "got %v", err)
	}
	if _, err := c.SchemaByID(t.Context(), 1); err != nil || asked.Load() != before {
		t.Errorf("a schema that is known: %v; asked %d times in the outage", err, asked.Load()-before)
	}
	down.Store(false)
	c.outage.mu.Lock()
	c.outage.until = time.Now()
	c.outage.mu.Unlock()
	for _, id := range []int{7, 8} {
		must.Get(c.SchemaByID(t.Context(), id))(t)
	}
}
