package demo

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

// placeService is the remote dependency of the demo: it answers over HTTP in which county a feature lies, and its script makes it as
// unreliable as such services are. The answers are real: a county is looked up by its id; for an earthquake the service finds the county
// that contains the epicentre, or else the one with the nearest boundary.
//
//	GET /place?id=ci37868143        {"name":"Los Angeles, California","county":"Los Angeles",…}
//	GET /place?lon=-118.67&lat=34.49
type placeService struct {
	gazetteer *gazetteer
	script    Script

	mu     sync.Mutex
	first  time.Time      // when the first question came
	asked  map[string]int // how often, by feature id; only ids that the gazetteer knows, so it is bounded
	counts map[replyKind]int64
}

// newPlaceService returns a service that has had no question.
func newPlaceService(g *gazetteer, s Script) *placeService {
	return &placeService{gazetteer: g, script: s, asked: map[string]int{}, counts: map[replyKind]int64{}}
}

// Counts returns the number of replies by kind.
func (s *placeService) Counts() map[replyKind]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}

// Handler serves GET /place.
func (s *placeService) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /place", s.place)
	return mux
}

// place answers one question, unless the script replies with a failure.
func (s *placeService) place(w http.ResponseWriter, r *http.Request) {
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
	_ = json.NewEncoder(w).Encode(place) // the client may be gone
}

// find looks up the place of a question. A question without an answer does not reach the script.
func (s *placeService) find(query url.Values) (place, int, error) {
	if id := query.Get("id"); id != "" {
		found, ok := s.gazetteer.ByID(id)
		if !ok {
			return place{}, http.StatusNotFound, fmt.Errorf("no feature has the id %q; ask for a county's FIPS code or an earthquake's event id", id)
		}
		return found, http.StatusOK, nil
	}
	lon, lonErr := strconv.ParseFloat(query.Get("lon"), 64)
	lat, latErr := strconv.ParseFloat(query.Get("lat"), 64)
	if lonErr != nil || latErr != nil || !(math.Abs(lon) <= 180 && math.Abs(lat) <= 90) {
		return place{}, http.StatusBadRequest, fmt.Errorf("ask for id=ID or for lon=DEGREES&lat=DEGREES")
	}
	return s.gazetteer.At(orb.Point{lon, lat}), http.StatusOK, nil
}

// next asks the script and counts its reply.
func (s *placeService) next(key string) placeReply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first.IsZero() {
		s.first = time.Now()
	}
	s.asked[key]++
	reply := s.script.reply(placeCall{Key: key, Number: s.asked[key], Since: time.Since(s.first)})
	s.counts[reply.Kind]++
	return reply
}

// OutageLeft returns how long the outage still lasts; 0 if there is none.
func (s *placeService) OutageLeft() time.Duration {
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
