package places

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"time"
)

// Kind is what the service does with one question. The list is closed; see Kinds.
type Kind string

// The kinds of reply.
const (
	// KindAnswer is the answer, at once.
	KindAnswer Kind = "answer"
	// KindSlow is the answer, late but within what a client waits.
	KindSlow Kind = "slow"
	// KindStuck is an answer that comes later than any client waits.
	KindStuck Kind = "stuck"
	// KindTooMany is status 429 with a Retry-After.
	KindTooMany Kind = "too_many"
	// KindUnavailable is a transient status 503.
	KindUnavailable Kind = "unavailable"
	// KindOutage is status 503 because the whole service is down.
	KindOutage Kind = "outage"
)

// Kinds lists every Kind.
func Kinds() []Kind {
	return []Kind{KindAnswer, KindSlow, KindStuck, KindTooMany, KindUnavailable, KindOutage}
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
	// it lasts. 0: there is none, and the service misbehaves for ever.
	OutageAfter, OutageFor time.Duration
}

// Call is one question, as far as the script cares.
type Call struct {
	// Key is what is asked about.
	Key string
	// Number counts the questions about this key, this one included, from 1.
	Number int
	// Since is the time since the service's first question.
	Since time.Duration
}

// Reply is what the script makes of a call.
type Reply struct {
	Kind Kind
	// Status is the HTTP status.
	Status int
	// Delay is how long the service takes.
	Delay time.Duration
	// RetryAfter is the header of a 429; 0 for none.
	RetryAfter time.Duration
}

// Reply is pure: equal calls get equal replies. After the outage the service behaves, as if
// somebody had fixed it: a record that met the outage three times must not run out of
// its attempts, or wait another minute, by plain bad luck.
func (s Script) Reply(c Call) Reply {
	if s.OutageFor > 0 && c.Since >= s.OutageAfter {
		if c.Since < s.OutageAfter+s.OutageFor {
			return Reply{Kind: KindOutage, Status: http.StatusServiceUnavailable}
		}
		return Reply{Kind: KindAnswer, Status: http.StatusOK}
	}
	luck := s.luck(c)
	for _, bad := range []struct {
		share float64
		reply Reply
	}{
		{s.Unavailable, Reply{Kind: KindUnavailable, Status: http.StatusServiceUnavailable}},
		{s.TooMany, Reply{Kind: KindTooMany, Status: http.StatusTooManyRequests, RetryAfter: s.RetryAfter}},
		{s.Slow, Reply{Kind: KindSlow, Status: http.StatusOK, Delay: s.SlowFor}},
		{s.Stuck, Reply{Kind: KindStuck, Status: http.StatusOK, Delay: s.StuckFor}},
	} {
		if luck < bad.share {
			return bad.reply
		}
		luck -= bad.share
	}
	return Reply{Kind: KindAnswer, Status: http.StatusOK}
}

// luck is a number from 0 to 1 that depends on seed, key and number alone.
func (s Script) luck(c Call) float64 {
	h := fnv.New64a()
	h.Write([]byte(c.Key))
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(c.Number)))
	return rand.New(rand.NewPCG(s.Seed, h.Sum64())).Float64()
}
