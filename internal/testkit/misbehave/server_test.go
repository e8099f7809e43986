package misbehave

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func get(ctx context.Context, s *Server, key string) (status int, retryAfter, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/place?id="+key, nil)
	if err != nil {
		return 0, "", "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header.Get("Retry-After"), string(all), err
}

func TestServer(t *testing.T) {
	s := New(t)
	t.Run("plays_the_script_then_the_default", func(t *testing.T) {
		s.Script("a", append(Times(2, Status(503)), Answer{Status: 429, RetryAfter: "2"})...)
		var got []int
		for range 4 {
			status, after, body, err := get(t.Context(), s, "a")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, status)
			if (status == 429) != (after == "2") {
				t.Errorf("status %d with Retry-After %q", status, after)
			}
			if status == 200 && !strings.Contains(body, PlaceName("a")) {
				t.Errorf("body %s", body)
			}
		}
		if got[0] != 503 || got[1] != 503 || got[2] != 429 || got[3] != 200 {
			t.Errorf("statuses %v", got)
		}
		arrivals := s.Arrivals("a")
		if len(arrivals) != 4 || arrivals[3].Before(arrivals[0]) {
			t.Errorf("arrivals %v", arrivals)
		}
	})
	t.Run("cuts_the_connection", func(t *testing.T) {
		s.Script("b", Answer{Reset: true})
		if status, _, _, err := get(t.Context(), s, "b"); err == nil {
			t.Errorf("status %d in place of an error", status)
		}
	})
	t.Run("holds_until_released", func(t *testing.T) {
		release := make(chan struct{})
		s.Script("c", Answer{Status: 200, Hold: release})
		done := make(chan error, 1)
		go func() { _, _, _, err := get(t.Context(), s, "c"); done <- err }()
		s.UntilArrivals(t.Context(), t, "c", 1)
		select {
		case err := <-done:
			t.Errorf("answered before the release: %v", err)
		default:
		}
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Run("lets_go_of_a_client_that_has_gone", func(t *testing.T) {
		s.Script("d", Answer{Status: 200, Hold: make(chan struct{})})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, _, _, err := get(ctx, s, "d"); err == nil {
			t.Error("an answer was given")
		}
	})
	t.Run("answers_as_often_as_its_budget_allows", func(t *testing.T) {
		s.Budget(1)
		done := make(chan error, 2)
		for range 2 {
			go func() { _, _, _, err := get(t.Context(), s, "e"); done <- err }()
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		s.UntilArrivals(t.Context(), t, "e", 2)
		select {
		case err := <-done:
			t.Errorf("answered beyond the budget: %v", err)
		default:
		}
		s.Budget(-1)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
