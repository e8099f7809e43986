// Package misbehave is an HTTP server that answers by script: so many failures
// for this key, a Retry-After for that one, a connection that hangs or is cut.
//
// It notes when each request arrived. Those times come from the server's own
// clock reading, not from the software under test, so they prove that no retry
// ran too early.
package misbehave
