package registry

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// TestRegister_is_asked_for_once, however many records are to be written, and a
// schema that is there keeps its id.
func TestRegister_is_asked_for_once(t *testing.T) {
	fake, asked, c := counted(t)
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			_, err := c.Register(t.Context(), "parcels-value", parcel)
			expect.That(t, err == nil, "%v", err)
		})
	}
	group.Wait()
	if n := asked.Load(); n < 1 || n > 3 { // the client asks once or twice for one registration
		t.Errorf("the registry was asked %d times", n)
	}
	first := must.Get(c.Register(t.Context(), "parcels-value", parcel))(t)
	other := client(t, Options{URLs: []string{fake.URL()}})
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

// TestLookup_registers_nothing and says what to do.
func TestLookup_registers_nothing(t *testing.T) {
	fake, _, c := counted(t)
	_, err := c.Lookup(t.Context(), "parcels-value", parcel)
	f := classify.Of(err)
	expect.That(t, f.Code == classify.CodeSchemaMismatch && f.Class == classify.Permanent && f.Stage == classify.StageEncode && strings.Contains(err.Error(), "output.avro.register"), "got %+v", f)
	_, registered := fake.GetSchema("parcels-value", 1)
	expect.That(t, !registered, "a look-up registered the schema")
}

// TestRegister_failures: a mismatch is permanent and remembered; what will pass is asked for again.
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
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(`{"error_code":1,"message":"no"}`))
			}))
			t.Cleanup(server.Close)
			client := client(t, Options{URLs: []string{server.URL}})
			var first int
			for i := range 3 {
				_, err := client.Register(t.Context(), "parcels-value", parcel)
				must.That(t, err != nil, "passed")
				f := classify.Of(err)
				expect.That(t, f.Code == c.code && f.Class == c.class && f.Stage == classify.StageEncode, "got %s, %s, %s: %v", f.Code, f.Class, f.Stage, err)
				if i == 0 {
					first = asked
				}
			}
			expect.That(t, (asked > first) == c.again, "asked %d times in three attempts, %d in the first", asked, first)
		})
	}
}
