package console

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/access"
)

// A web page can point a name of its own to this machine; its requests carry that name.
func TestGuard_S4_6_refuses_other_host_names(t *testing.T) {
	d := newDesk(t, letter("a", 0))
	for host, want := range map[string]int{
		"127.0.0.1:8480": http.StatusOK, "localhost:8480": http.StatusOK, "LOCALHOST": http.StatusOK, "[::1]:8480": http.StatusOK, "127.9.9.9": http.StatusOK,
		"rebound.example:8480": http.StatusMisdirectedRequest, "127.0.0.1.rebound.example": http.StatusMisdirectedRequest, "localhost.rebound.example": http.StatusMisdirectedRequest,
		"": http.StatusMisdirectedRequest, "0.0.0.0:8480": http.StatusMisdirectedRequest, "10.0.0.1": http.StatusMisdirectedRequest, "[::]": http.StatusMisdirectedRequest, "localhost@rebound.example": http.StatusMisdirectedRequest,
	} {
		for _, path := range []string{"/api/stats", "/", "/api/openapi.json"} {
			r := request(path)
			r.Host = host
			w := d.ask(r)
			if got := w.Code; got != want && (want != http.StatusOK || path == "/api/stats") {
				t.Errorf("Host %q: %s: %d, want %d", host, path, got, want)
			}
			if want != http.StatusOK && strings.Contains(w.Body.String(), "letters") {
				t.Errorf("Host %q: %s tells something: %s", host, path, w.Body)
			}
		}
	}
}

func TestGuard_S4_6_only_reads_and_sends_its_headers_always(t *testing.T) {
	d := newDesk(t)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodHead} {
		r := request("/api/letters")
		r.Method = method
		w := d.ask(r)
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET" {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	r := request("/api/letters")
	r.ContentLength = -1
	d.refused(d.ask(r), http.StatusRequestEntityTooLarge)
	for _, path := range []string{"/api/stats", "/api/nowhere", "/api/letters?x=1", "/api/openapi.json"} {
		r := request(path)
		r.Header.Set("Origin", "https://elsewhere.example")
		h := d.ask(r).Header()
		if h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

func TestGuard_S4_6_works_on_so_many_requests_at_once(t *testing.T) {
	d := newDesk(t)
	for range maxRequests {
		d.console.slots <- struct{}{}
	}
	w := d.get("/api/stats")
	if said := d.refused(w, http.StatusTooManyRequests); said.Code != "busy" || w.Header().Get("Retry-After") == "" {
		t.Errorf("%+v, %v", said, w.Header())
	}
	<-d.console.slots
	read[StatsAnswer](d, "/api/stats")
	if len(d.console.slots) != maxRequests-1 {
		t.Errorf("%d requests are counted", len(d.console.slots))
	}
}

func TestListen_S4_6_at_loopback_only(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "console.example:0", "127.0.0.1"} {
		if l, err := Listen(t.Context(), address, access.Loopback("")); !errors.Is(err, ErrAddress) {
			t.Errorf("%s: %v, %v", address, l, err)
		}
	}
	l, err := Listen(t.Context(), "localhost:0", access.Loopback(""))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Listen(t.Context(), l.Addr().String(), access.Loopback("")); err == nil || errors.Is(err, ErrAddress) || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("a port that is taken: %v", err)
	}
}
