// Package enrich asks remote HTTP services about a feature and writes parts of their answers into it.
//
// A step is one GET: a URL template with values of the feature, a time limit, and JSON pointers (RFC 6901) into the
// answer. It is tried once: what fails for a passing reason is an error that pkg/classify knows as transient, and the
// engine tries the whole record again (S1-9), so that no slow service holds up what stands behind.
//
// What an answer means:
//
//	2xx with the JSON that was agreed upon    the values are written, all or none
//	2xx, but not JSON, empty or too large     bad_response, transient: proxies and services that are starting answer
//	                                          200 with a page of their own, and the attempts are bounded
//	2xx without a value that is required      missing_required: this record is bad
//	3xx to another host, or too many of them  http_redirect, permanent: a feature must not be sent where nobody said
//	4xx, 5xx                                  by status, Retry-After in seconds or as a date (S1-6)
//	no answer, or half of one                 timeout, connection_refused, connection_reset, dns, tls or network
//	a feature without a value the URL needs   missing_required, before anything is sent
//
// Errors name the step and the URL without its query, user and password. Every one carries the stage enrich.
//
// A step may have a circuit breaker (S4-5, S3-5). While it is open, records get a *retrytopics.HoldError and nothing is
// sent, but one probe at a time once the cooldown is over. The failures that come before it opens are the records' own and
// spend an attempt each; the one that opens it, those that were under way by then, and failed probes are holds as well. So
// an outage spends at most one attempt less than breaker.failures, each time the breaker opens, and no probe any.
// A record that alone makes its service fail cannot be told from an outage: while it is the only one that asks, it waits.
//
// The package refuses to retry, to cache and to fall back; it decides nothing about the record.
package enrich
