package misbehave

import (
	"net/http"
	"time"
)

// Answer is what the server does with one request.
type Answer struct {
	Status     int             // HTTP status
	RetryAfter string          // the header's value, "" for none
	Body       string          // "" for a default that names the key
	Hold       <-chan struct{} // answer only once this is closed, or the client has gone
	Reset      bool            // cut the connection in place of an answer
	Raw        string          // write these bytes and close the connection, in place of an answer
	Drip       time.Duration   // send the body byte by byte, with a pause after each
	Header     map[string]string
}

// OK is a good answer with a place name.
func OK() Answer { return Answer{Status: http.StatusOK} }

// Status is an answer with this status and nothing else.
func Status(code int) Answer { return Answer{Status: code} }

// Times repeats an answer, to be followed by others.
func Times(n int, a Answer) []Answer {
	out := make([]Answer, n)
	for i := range out {
		out[i] = a
	}
	return out
}
