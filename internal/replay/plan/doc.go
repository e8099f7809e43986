// Package plan is the file format of a replay plan: which dead letters to replay, and what to do with each. A plan
// has a head, one line for each dead letter in the order of the DLQ, and a checksum. It is read and written line by
// line, so that a plan of a million dead letters needs little memory.
//
// The format is JSON lines, so that common tools can read, count and compare plans:
//
//	{"kind":"switchback replay plan","version":1,"id":"replay-…","pipeline":"…",…}
//	{"partition":0,"offset":17,"id":"0-40-aaaaaaaa","content_hash":"sha256:…","do":"reinject","today":{"passes":true},…}
//	{"end":{"dead_letters":1,"sha256":"…"}}
//
// Reading is strict: an unknown version, an unknown member, dead letters out of order, a wrong checksum or anything
// after the end is an error that names the line. The package neither selects dead letters nor executes plans;
// internal/replay does.
package plan
