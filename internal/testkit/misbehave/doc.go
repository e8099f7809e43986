// Package misbehave is an HTTP server with scripted answers: a number of failures for one key, a Retry-After for
// another, a connection that hangs or is reset.
//
// It records when each request arrived. These times come from the server's own clock, not from the software under test,
// so they prove that no retry was early.
package misbehave
