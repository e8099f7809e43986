// Package console answers the questions of the replayer over HTTP, for browsers and programs. It is read-only unless
// it is given [Changes]. Then its pages replay, discard, escalate, reopen, edit and undo. Programs cannot change
// anything.
//
// Its answers have the JSON types of internal/dlq and internal/replay, as the command line prints them. Each answer
// has its freshness: when and up to which offsets the topics were read. One refresh of the index at a time serves all
// readers. If no broker answers, questions to the index are answered from older data, and the answers report it.
// Questions to the brokers fail with advice.
//
// An answer is complete in memory, within a bound, before its first byte is sent. Therefore a slow client does not
// hold a transaction of the index open.
//
// Package internal/access identifies who sends a request and decides what they may do: everybody on this machine, or
// the people of a list. Requests for other host names are refused, because a web page could point its own name to
// this machine. A form is accepted only if a page of this server sent it, which its origin and the token of its
// session prove. The table of routes is the source of the request checks and of the OpenAPI document.
package console
