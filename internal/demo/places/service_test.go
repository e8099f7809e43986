package places

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func ask(h http.Handler, query string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/place?"+query, nil))
	return w
}

func TestService_answers_and_refuses(t *testing.T) {
	h := NewService(newGazetteer(t), Script{}).Handler()
	for _, c := range []struct {
		query string
		want  int
		name  string
	}{
		{"id=04015", 200, "Mohave, Arizona"},
		{"lon=-118.667&lat=34.4945", 200, "Los Angeles, California"},
		{"id=nowhere", 404, ""},
		{"", 400, ""},
		{"lon=east&lat=34", 400, ""},
		{"lon=NaN&lat=34", 400, ""},
		{"lon=-118&lat=91", 400, ""},
	} {
		w := ask(h, c.query)
		if w.Code != c.want {
			t.Errorf("%q: status %d, want %d", c.query, w.Code, c.want)
		}
		var place Place
		if c.want == 200 {
			if err := json.Unmarshal(w.Body.Bytes(), &place); err != nil || place.Name != c.name {
				t.Errorf("%q: %+v, %v, want %s", c.query, place, err, c.name)
			}
		}
	}
}

func TestService_outage_counts_from_the_first_question(t *testing.T) {
	g := newGazetteer(t)
	synctest.Test(t, func(t *testing.T) {
		s := NewService(g, Script{OutageAfter: 3 * time.Second, OutageFor: 15 * time.Second})
		h := s.Handler()
		time.Sleep(time.Hour) // nobody has asked: no clock runs
		for _, step := range []struct {
			wait time.Duration
			want int
		}{{0, 200}, {2 * time.Second, 200}, {time.Second, 503}, {14 * time.Second, 503}, {time.Second, 200}} {
			time.Sleep(step.wait)
			if got := ask(h, "id=04015").Code; got != step.want {
				t.Errorf("after another %v: status %d, want %d", step.wait, got, step.want)
			}
		}
		if got := s.Counts(); got[KindOutage] != 2 || got[KindAnswer] != 3 {
			t.Errorf("counts %v", got)
		}
	})
}

func TestService_asks_to_come_back_later(t *testing.T) {
	w := ask(NewService(newGazetteer(t), Script{TooMany: 1, RetryAfter: 3 * time.Second}).Handler(), "id=04015")
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "3" {
		t.Errorf("status %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
}

func TestService_draws_lots_anew_for_each_question_about_a_key(t *testing.T) {
	h := NewService(newGazetteer(t), Script{Unavailable: 0.5}).Handler()
	seen := map[int]int{}
	for range 50 {
		seen[ask(h, "id=04015").Code]++
	}
	if seen[http.StatusOK] == 0 || seen[http.StatusServiceUnavailable] == 0 {
		t.Errorf("50 questions about one county: %v", seen)
	}
}

func TestService_slow_and_stuck_take_their_time(t *testing.T) {
	g := newGazetteer(t)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if w := ask(NewService(g, Script{Slow: 1, SlowFor: 300 * time.Millisecond}).Handler(), "id=04015"); w.Code != 200 || time.Since(start) != 300*time.Millisecond {
			t.Errorf("slow: status %d after %v", w.Code, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start = time.Now()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/place?id=04015", nil)
		w := httptest.NewRecorder()
		NewService(g, Script{Stuck: 1, StuckFor: time.Minute}).Handler().ServeHTTP(w, r)
		if w.Body.Len() != 0 || time.Since(start) != 2*time.Second {
			t.Errorf("stuck: %d bytes after %v, want none once the client has gone", w.Body.Len(), time.Since(start))
		}
	})
}

func TestServer_listens_answers_and_closes(t *testing.T) {
	s, err := Start(0, Script{})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	res, err := client.Get("http://" + s.Addr() + "/place?id=04015")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || res.StatusCode != 200 {
		t.Errorf("status %d, %q, %v", res.StatusCode, body, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
