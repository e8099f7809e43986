// Package enrich sends requests about a feature to remote services, and writes parts of their answers into the feature.
//
// A step consists of a question, JSON pointers (RFC 6901) into the answer, and an ordered list of providers that can
// answer. If no provider answers, the engine retries the whole record later (S1-9), so a slow service does not block the
// records behind it.
//
// The answer of a provider has these meanings:
//
//	2xx with JSON as configured               the values are written, all or none
//	2xx, but not JSON, empty or too large     bad_response, transient: proxies and starting services answer 200 with a
//	                                          page of their own, and the number of attempts is limited
//	2xx without a required value              missing_required: this record is bad
//	3xx to another host, or too many of them  http_redirect, permanent: a feature must not reach an unconfigured host
//	4xx, 5xx                                  by status, Retry-After in seconds or as a date (S1-6)
//	no answer, or an incomplete one           timeout, connection_refused, connection_reset, dns, tls or network
//	an address that is not allowed            address_refused, permanent, before a packet is sent (addressPolicy)
//	a feature without a value of the question missing_required, before anything is sent
//	no match, or several matches              foreign_key_unresolved: this record has a dangling reference
//	an SQLSTATE                               by the taxonomy of pkg/classify
//
// A question is sent over HTTP (GET, POST, WFS GetFeature, STAC item) or to PostgreSQL. A feature's values are escaped
// in a URL, nodes of a tree in a body, and parameters in a query: never text that could change the question.
//
// Errors name the step and the URL without its query, user and password. Every error has the stage enrich.
//
// # Fallback
//
// The next provider is asked if the previous one may not be asked now (breaker open, rate limit used up) or failed transiently:
// timeouts, network errors, bad_response, and retryable statuses. After a 404, a missing value, a 401 or a refused
// address, no other provider is asked: these are answers, or faults that another provider's answer would hide. Only the
// first provider may condemn a record. If no fallback answers, the error is that of the first provider.
//
// # What defers records
//
// A provider may have a circuit breaker (S4-5, S3-5). While the breaker is open, records get an
// *retrytopics.UnavailableError and nothing is sent, except for one probe at a time after the cooldown. Failures before
// the breaker opens belong to their records and use an attempt each. The failure that opens the breaker, the requests in
// progress at that moment, and failed probes only defer their records. An outage thus uses at most breaker.failures - 1
// attempts each time the breaker opens, and a probe uses none. (A breaker by rate opens later, and everything that fails
// until then uses an attempt.) A record that alone makes its service fail cannot be distinguished from an outage: while
// no other record sends requests, it waits.
//
// A service's rate limit is obeyed before it is exceeded (S2-2, see [QuotaLedger]), and so is the configured rate; both
// defer records in the same way. A Retry-After defers records too: of the requests in progress when it arrives, only the
// first to receive it uses an attempt.
//
// # Immediate retries
//
// A failure of class retry_now (a deadlock) is retried immediately. Only the step is repeated: the results of earlier
// steps stay, and their services are not asked again (S3-4). If the retries fail too, the failure is transient. Nothing
// is kept from one attempt to the next.
//
// A cache stores answers, and lets records with the same question share one request. It stores and shares no failure:
// each failure belongs to its record.
package enrich
