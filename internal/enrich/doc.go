// Package enrich asks remote services about a feature and writes parts of their answers into it.
//
// A step is a question, JSON pointers (RFC 6901) into the answer, and the providers that can answer, in their order. The
// engine tries the whole record again when none could (S1-9), so that no slow service holds up what stands behind.
//
// What the answer of a provider means:
//
//	2xx with the JSON that was agreed upon    the values are written, all or none
//	2xx, but not JSON, empty or too large     bad_response, transient: proxies and services that are starting answer
//	                                          200 with a page of their own, and the attempts are bounded
//	2xx without a value that is required      missing_required: this record is bad
//	3xx to another host, or too many of them  http_redirect, permanent: a feature must not be sent where nobody said
//	4xx, 5xx                                  by status, Retry-After in seconds or as a date (S1-6)
//	no answer, or half of one                 timeout, connection_refused, connection_reset, dns, tls or network
//	an address that is not allowed            address_refused, permanent, before a packet is sent (addressPolicy)
//	a feature without a value that is asked   missing_required, before anything is sent
//	nothing matches, or more than one thing   foreign_key_unresolved: this record refers to what is not there
//	an SQLSTATE                               by the taxonomy of pkg/classify
//
// A question goes out over HTTP (GET, POST, WFS GetFeature, STAC item) or to PostgreSQL. A feature's values are escaped in a
// URL, nodes of a tree in a body, parameters in a query: never text that could change the question.
//
// Errors name the step and the URL without its query, user and password. Every one carries the stage enrich.
//
// # Fallback
//
// The next provider is asked when the one before is held back (breaker open, rate limit used up) or failed with a class
// that passes: timeouts, network errors, bad_response, and statuses that are retryable. A 404, a missing value, a 401, a
// refused address go to no other provider: they are answers, or faults that nobody would see if another one answered.
// Only the first provider may condemn a record. When no fallback answers, the error is that of the first.
//
// # What holds requests back
//
// A provider may have a circuit breaker (S4-5, S3-5). While it is open, records get an *retrytopics.UnavailableError and nothing is
// sent, but one probe at a time once the cooldown is over. The failures that come before it opens are the records' own and
// spend an attempt each; the one that opens it, those that were under way by then, and failed probes are holds as well. So
// an outage spends at most one attempt less than breaker.failures, each time the breaker opens, and no probe any. (A
// breaker by rate opens later, and spends what fails until then.)
// A record that alone makes its service fail cannot be told from an outage: while it is the only one that asks, it waits.
//
// What a service says about its rate limit is obeyed before the limit is hit (S2-2, see [QuotaLedger]), and the client's
// own rate is kept; both hold records in the same way. So does a Retry-After: of the requests under way when it comes the
// first to hear of it spends an attempt.
//
// # Once more at once
//
// A failure of class retry_now (a deadlock) is tried again in place, the step alone: what earlier steps wrote stays, and
// they are not asked again (S3-4). What still fails so is transient. Nothing is kept from one attempt to the next.
//
// A cache keeps answers, and lets records that ask the same at the same time share one request. It keeps and shares no
// failure: each is its record's own.
//
// The package decides nothing else about the record.
package enrich
