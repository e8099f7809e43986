package misbehave

import (
	"net/http"
	"time"
)

// Answer is the server's response to one request.
type Answer struct {
	Status     int             // HTTP status
	RetryAfter string          // the header's value, "" for none
	Body       string          // "" for a default that names the key
	Hold       <-chan struct{} // answer only after this is closed, or the client has disconnected
	Reset      bool            // reset the connection instead of answering
	Raw        string          // write these bytes and close the connection instead of answering
	Drip       time.Duration   // send the body byte by byte, with a pause after each
	Header     map[string]string
}

// OK is a successful answer with a place name.
func OK() Answer { return Answer{Status: http.StatusOK} }

// Status is an answer with only this status.
func Status(code int) Answer { return Answer{Status: code} }

// Times repeats an answer.
func Times(n int, a Answer) []Answer {
	out := make([]Answer, n)
	for i := range out {
		out[i] = a
	}
	return out
}
