package demo

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// placeService is the remote dependency of the demo: an HTTP service that returns the county of a feature, and whose script makes it as unreliable as real services. The answers are real: a county is looked up by its ID; for an
// earthquake the service finds the county that contains the epicentre, or the one with the nearest boundary.
//
//	GET /place?id=ci37868143        {"name":"Los Angeles, California","county":"Los Angeles",…}
type placeService struct {
	gazetteer *gazetteer
	script    Script
	addr      string
	http      *http.Server
	done      chan error

	mu       sync.Mutex
	first    time.Time      // time of the first request
	requests map[string]int // requests by feature ID; only IDs of the gazetteer, so it is bounded
	counts   map[replyKind]int64
}

// startPlaces starts the service on a free port of 127.0.0.1.
func startPlaces(script Script) (*placeService, error) {
	gazetteer, err := newGazetteer()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the place-name service: %w", err)
	}
	s := &placeService{
		gazetteer: gazetteer, script: script, addr: listener.Addr().String(), done: make(chan error, 1),
		requests: map[string]int{}, counts: map[replyKind]int64{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /place", s.place)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { s.done <- s.http.Serve(listener) }()
	return s, nil
}

// Close stops the service and disconnects clients that wait for a stuck answer.
func (s *placeService) Close() error {
	err := s.http.Close()
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Counts returns the number of replies by kind.
func (s *placeService) Counts() map[replyKind]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}

// place answers one question, unless the script replies with a failure.
func (s *placeService) place(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	place, known := s.gazetteer.ByID(id)
	if !known { // the question does not reach the script
		http.Error(w, fmt.Sprintf("no feature has the id %q; ask for a county's FIPS code or an earthquake's event id", id), http.StatusNotFound)
		return
	}
	reply := s.next(id)
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
	_ = json.NewEncoder(w).Encode(place) // the client may have disconnected
}

// next asks the script and counts its reply.
func (s *placeService) next(key string) placeReply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first.IsZero() {
		s.first = time.Now()
	}
	s.requests[key]++
	reply := s.script.reply(key, s.requests[key], time.Since(s.first))
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

// replyKind is the service's behaviour for one request. The list is closed (see [replyKinds]).
type replyKind string

// The kinds of reply.
const (
	// replyAnswer is the answer, at once.
	replyAnswer replyKind = "answer"
	// replySlow is the answer, late but within the client's timeout.
	replySlow replyKind = "slow"
	// replyStuck is an answer after every client's timeout.
	replyStuck replyKind = "stuck"
	// replyTooMany is status 429 with a Retry-After.
	replyTooMany replyKind = "too_many"
	// replyUnavailable is a transient status 503.
	replyUnavailable replyKind = "unavailable"
	// replyOutage is status 503 because the whole service is down.
	replyOutage replyKind = "outage"
)

// replyKinds lists every kind.
func replyKinds() []replyKind {
	return []replyKind{replyAnswer, replySlow, replyStuck, replyTooMany, replyUnavailable, replyOutage}
}

// Script is how the service misbehaves. The zero Script never does.
type Script struct {
	// Seed distinguishes two scripts with the same shares.
	Seed uint64
	// Unavailable, TooMany, Slow and Stuck are the shares of questions, from 0 to 1, that get this kind of reply.
	Unavailable, TooMany, Slow, Stuck float64
	// RetryAfter is the Retry-After of a 429, in whole seconds.
	RetryAfter time.Duration
	// SlowFor and StuckFor are the times that these replies take.
	SlowFor, StuckFor time.Duration
	// OutageAfter is the time from the first request to the outage, and OutageFor the duration of the outage. With 0
	// there is no outage, and the service misbehaves forever.
	OutageAfter, OutageFor time.Duration
}

// placeReply is the answer of the script to one question.
type placeReply struct {
	Kind replyKind
	// Status is the HTTP status.
	Status int
	// Delay is how long the service takes.
	Delay time.Duration
	// RetryAfter is the header of a 429; 0 for none.
	RetryAfter time.Duration
}

// reply returns the answer to the number-th request about key (from 1), at a time since the service's first request. It
// is a pure function. After the outage the service always succeeds: a record that met the outage three times must not
// run out of attempts, or wait another minute, by bad luck.
func (s Script) reply(key string, number int, since time.Duration) placeReply {
	if s.OutageFor > 0 && since >= s.OutageAfter {
		if since < s.OutageAfter+s.OutageFor {
			return placeReply{Kind: replyOutage, Status: http.StatusServiceUnavailable}
		}
		return placeReply{Kind: replyAnswer, Status: http.StatusOK}
	}
	luck := s.luck(key, number)
	for _, bad := range []struct {
		share float64
		reply placeReply
	}{
		{s.Unavailable, placeReply{Kind: replyUnavailable, Status: http.StatusServiceUnavailable}},
		{s.TooMany, placeReply{Kind: replyTooMany, Status: http.StatusTooManyRequests, RetryAfter: s.RetryAfter}},
		{s.Slow, placeReply{Kind: replySlow, Status: http.StatusOK, Delay: s.SlowFor}},
		{s.Stuck, placeReply{Kind: replyStuck, Status: http.StatusOK, Delay: s.StuckFor}},
	} {
		if luck < bad.share {
			return bad.reply
		}
		luck -= bad.share
	}
	return placeReply{Kind: replyAnswer, Status: http.StatusOK}
}

// luck returns a number from 0 to 1 that depends on seed, key and number alone.
func (s Script) luck(key string, number int) float64 {
	h := fnv.New64a()
	h.Write([]byte(key))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(number)))
	return rand.New(rand.NewPCG(s.Seed, h.Sum64())).Float64()
}
