package places

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/paulmach/orb"
)

// Service answers questions as its script lets it.
type Service struct {
	gazetteer *Gazetteer
	script    Script

	mu     sync.Mutex
	first  time.Time      // when the first question came
	asked  map[string]int // how often, by feature id; only ids that the gazetteer knows, so it is bounded
	counts map[Kind]int64
}

// NewService makes a service that nobody has asked yet.
func NewService(g *Gazetteer, s Script) *Service {
	return &Service{gazetteer: g, script: s, asked: map[string]int{}, counts: map[Kind]int64{}}
}

// Counts returns how many replies of each kind were given.
func (s *Service) Counts() map[Kind]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}

// Handler serves GET /place.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /place", s.place)
	return mux
}

// place answers one question, or does what the script wants instead.
func (s *Service) place(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	place, status, err := s.find(query)
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	reply := s.next(cmp.Or(query.Get("id"), place.CountyID))
	select {
	case <-time.After(reply.Delay):
	case <-r.Context().Done(): // the client has given up
		return
	}
	if reply.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(reply.RetryAfter.Seconds())))
	}
	if reply.Status != http.StatusOK {
		http.Error(w, string(reply.Kind), reply.Status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(place) // a client that has gone needs no answer
}

// find reads the question. A question that nobody can answer is no matter of the script.
func (s *Service) find(query url.Values) (Place, int, error) {
	if id := query.Get("id"); id != "" {
		place, ok := s.gazetteer.ByID(id)
		if !ok {
			return Place{}, http.StatusNotFound, fmt.Errorf("no feature has the id %q; ask for a county's FIPS code or an earthquake's event id", id)
		}
		return place, http.StatusOK, nil
	}
	lon, lonErr := strconv.ParseFloat(query.Get("lon"), 64)
	lat, latErr := strconv.ParseFloat(query.Get("lat"), 64)
	if lonErr != nil || latErr != nil || !(math.Abs(lon) <= 180 && math.Abs(lat) <= 90) {
		return Place{}, http.StatusBadRequest, fmt.Errorf("ask for id=ID or for lon=DEGREES&lat=DEGREES")
	}
	return s.gazetteer.At(orb.Point{lon, lat}), http.StatusOK, nil
}

// next asks the script and remembers what came of it.
func (s *Service) next(key string) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first.IsZero() {
		s.first = time.Now()
	}
	s.asked[key]++
	reply := s.script.Reply(Call{Key: key, Number: s.asked[key], Since: time.Since(s.first)})
	s.counts[reply.Kind]++
	return reply
}

// OutageLeft is how long the outage still lasts; 0 when there is none at the moment.
func (s *Service) OutageLeft() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first.IsZero() {
		return 0
	}
	since := time.Since(s.first)
	if since < s.script.OutageAfter {
		return 0
	}
	return max(s.script.OutageAfter+s.script.OutageFor-since, 0)
}
