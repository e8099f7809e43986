// Package classify turns an error into a [Failure]: the reaction that it asks for, how far it reaches, and a code that
// is short enough for a metric label.
//
// It looks at types, sentinels and numbers (errors.As, errors.Is, an HTTP status, an SQLSTATE), never at the words of a
// message. table.go maps conditions to codes, with the numbers of sqlstate.go and kafka.go. taxonomy.go maps each code
// to its class, level, category and alert tier. [Class], [Level], [Code], [Category], [Alert] and [Stage] are closed
// lists. A user's [Rule] comes before the table. An error without a row in the table is permanent (S4-2): a retried
// unknown error would stay hidden from the person who must fix it. Options.Unknown changes that for programs that know their
// errors less well.
//
//	Class          what the loop does                            Level
//	retry_now      again at once, in process                     transient
//	retry_backoff  again later, after the policy's delay         transient
//	retry_after    again at the time that the other side named   transient
//	permanent      dead letter; the record is not at fault       permanent
//	row            dead letter; this record is bad               row
//
// A program marks its own errors: [WithClass] sets the reaction, a [Coded] error knows what happened, and [NewHTTPError]
// keeps the relevant parts of an HTTP answer. The request and the answer travel with the error ([WithRequest],
// [WithResponse]); the writer of a dead letter reads them there ([RequestOf], [ResponseOf]), so they cost nothing
// without a failure.
//
// The package does not decide how often and when a record is retried; the engine does. It imports no driver and no
// client of a broker or a database, reads no clock and logs nothing.
package classify
