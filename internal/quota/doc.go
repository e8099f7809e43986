// Package quota keeps what a service says about how much it may still be asked, so that its limit is obeyed before it is hit.
//
// It reads, in this order of trust:
//
//	RateLimit, RateLimit-Policy                          draft-ietf-httpapi-ratelimit-headers, lists: "day";r=50;t=30
//	RateLimit: limit=100, remaining=50, reset=30         the same draft up to revision 06
//	RateLimit-Limit, -Remaining, -Reset                  the same draft up to revision 05
//	X-RateLimit-Limit, -Remaining, -Reset (X-Rate-Limit) custom; the reset in seconds from now, or in seconds or milliseconds since 1970
//	Retry-After                                          RFC 9110, in both forms, of an answer 429 or 503
//
// Of several quotas the one with the fewest requests left counts. What does not parse says nothing: a service with
// odd headers is asked as one without.
//
// A [Ledger] counts the requests that were sent since the service last spoke, and those under way of which nobody knows
// whether they are in its count yet. So requests side by side do not run over the limit together.
//
// The package refuses to wait and to decide what becomes of a request that may not be sent: it says for how long.
package quota
