package demo

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"time"
)

// replyKind is what the service does with one question. The list is closed (see [replyKinds]).
type replyKind string

// The kinds of reply.
const (
	// replyAnswer is the answer, at once.
	replyAnswer replyKind = "answer"
	// replySlow is the answer, late but within what a client waits.
	replySlow replyKind = "slow"
	// replyStuck is an answer that comes later than any client waits.
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
	// Seed makes two scripts with the same shares differ.
	Seed uint64
	// Unavailable, TooMany, Slow and Stuck are the shares of questions, from 0 to 1, that get this kind of reply.
	Unavailable, TooMany, Slow, Stuck float64
	// RetryAfter is what a 429 asks for, in whole seconds.
	RetryAfter time.Duration
	// SlowFor and StuckFor are the times that these replies take.
	SlowFor, StuckFor time.Duration
	// OutageAfter is when the outage begins, counted from the first question; OutageFor is how long
	// it lasts. 0: there is none, and the service misbehaves forever.
	OutageAfter, OutageFor time.Duration
}

// placeCall is what the script knows of one question.
type placeCall struct {
	// Key is what is asked about.
	Key string
	// Number counts the questions about this key, this one included, from 1.
	Number int
	// Since is the time since the service's first question.
	Since time.Duration
}

// placeReply is what the script answers to a call.
type placeReply struct {
	Kind replyKind
	// Status is the HTTP status.
	Status int
	// Delay is how long the service takes.
	Delay time.Duration
	// RetryAfter is the header of a 429; 0 for none.
	RetryAfter time.Duration
}

// reply is a pure function: equal calls get equal replies. After the outage the service is well: a record that met the outage three times
// must not run out of attempts, or wait another minute, by bad luck.
func (s Script) reply(c placeCall) placeReply {
	if s.OutageFor > 0 && c.Since >= s.OutageAfter {
		if c.Since < s.OutageAfter+s.OutageFor {
			return placeReply{Kind: replyOutage, Status: http.StatusServiceUnavailable}
		}
		return placeReply{Kind: replyAnswer, Status: http.StatusOK}
	}
	luck := s.luck(c)
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

// luck is a number from 0 to 1 that depends on seed, key and number alone.
func (s Script) luck(c placeCall) float64 {
	h := fnv.New64a()
	h.Write([]byte(c.Key))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(c.Number)))
	return rand.New(rand.NewPCG(s.Seed, h.Sum64())).Float64()
}
