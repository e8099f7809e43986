// Package access says who sends a request to the console and what they may do. It signs people in by their tokens, or believes a trusted
// reverse proxy; keeps their sessions; and tells the forms of the console's pages from those that another page sends (S4-6).
//
// It refuses: a request for another host name; a proxy's header from any other address; a token that nobody has, more slowly each time; a
// role for somebody who is not listed. It knows nothing of dead letters and keeps no token, only hashes.
package access
