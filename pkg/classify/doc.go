// Package classify turns an error into a [Failure]: what class of answer it asks for, how far it reaches, and a code
// that is short enough for a metric label.
//
// It looks at types, sentinels and numbers (errors.As, errors.Is, an HTTP status, an SQLSTATE), never at the words of a
// message. Which condition gives which code is table.go (with the numbers of sqlstate.go and kafka.go); what follows from a
// code, its class, level, category and alert tier, is one table: taxonomy.go. [Class], [Level], [Code], [Category], [Alert]
// and [Stage] are closed lists. A user's [Rule] comes before the table. What no row of the table knows is permanent (S4-2): an unknown
// error that is tried again hides from the human who must see it. Options.Unknown changes that for programs that know their errors less well.
//
//	Class          what the loop does                          Level
//	retry_now      again at once, in process                   transient
//	retry_backoff  again later, by the policy's delay          transient
//	retry_after    again when the other side said              transient
//	permanent      dead letter; nothing is wrong with the row  permanent
//	row            dead letter; this record is bad             row
//
// A program that has errors of its own marks them: [WithClass] says what to do, an error that is [Coded] says what
// happened, and [NewHTTPError] keeps of an HTTP answer what classification needs. What was asked and what was answered travels
// with the error as well ([WithRequest], [WithResponse]); the writer of a dead letter reads it there ([RequestOf],
// [ResponseOf]), so that it costs nothing while all goes well.
//
// The package refuses to decide: how often and when a record is tried again is the engine's business. It imports no
// driver and no client of a broker or a database, reads no clock and logs nothing.
package classify
