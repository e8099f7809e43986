// Package access identifies who sends a request to the console, and returns what they may do. It authenticates people by
// tokens, or trusts a reverse proxy. It keeps their sessions, and it refuses forms that were not sent by a page of the
// console (S4-6).
//
// It refuses requests for another host name, a proxy's header from any other address, and people without a role. An
// address that sends wrong tokens has to wait. The package stores only hashes of tokens, and does not depend on dead
// letters.
package access
