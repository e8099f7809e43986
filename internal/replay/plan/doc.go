// Package plan is the frozen answer to "which letters, and what becomes of them": a head, one line for
// each letter in the order of the DLQ, and a checksum. A plan of a million letters is read and written
// line by line; it is never in memory as a whole unless its maker put it there.
//
// The form is JSON lines, so that a plan can be looked at, counted and compared with the tools at hand:
//
//	{"kind":"switchback replay plan","version":1,"id":"replay-…","pipeline":"…",…}
//	{"partition":0,"offset":17,"id":"0-40-aaaaaaaa","content_hash":"sha256:…","do":"reinject","today":{"passes":true},…}
//	{"end":{"letters":1,"sha256":"…"}}
//
// Reading is strict: an unknown version, an unknown member, letters out of order, a wrong checksum or
// anything after the end is an error that names the line. The package does not select letters and does
// not act on them: that is the work of internal/replay.
package plan
