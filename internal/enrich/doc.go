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
// The package refuses to retry, to cache and to fall back; it decides nothing about the record.
package enrich
