// Package console serves the questions of the replayer over HTTP to browsers and programs. It reads only, unless it is given [Changes]:
// then its pages replay, discard, escalate, reopen, edit and undo. Programs change nothing.
//
// Its answers have the JSON types of internal/dlq and internal/replay, as the command line prints them. Each says how fresh it is:
// when and up to which offsets the topics were read. One refresh of the index at a time serves all readers. When no broker answers,
// questions to the index are answered from what was read before, and say so; questions to the brokers fail with what to do.
//
// An answer is complete in memory, within a bound, before its first byte goes to the client. So a slow client holds no transaction of
// the index open.
//
// Who asks, and what they may, is decided by internal/access: everybody at this machine, or the people of a list. Requests for other host
// names are refused, since a web page could point its own name to this machine. A form is obeyed only when a page of this server sent it:
// its origin and the token of its session say so. The table of routes is the source of the request checks and of the OpenAPI document.
package console
