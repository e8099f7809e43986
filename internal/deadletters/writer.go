package deadletters

import (
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Writer is who wrote a state. It is a closed list (see [Writers]).
type Writer uint8

// The writers.
const (
	Consumer Writer = iota // the instance that finished a replay
	Operator               // the replayer, for the person who ran it
)

// Writers returns every writer.
func Writers() []Writer { return []Writer{Consumer, Operator} }

// String names the writer.
func (w Writer) String() string {
	switch w {
	case Consumer:
		return "consumer"
	case Operator:
		return "operator"
	}
	return "unknown writer"
}

// WriterOf returns who wrote a state that names the given record of the DLQ. Only the replayer knows that record: the consumer finishes
// the replay by its own record alone.
func WriterOf(dlq header.Position) Writer {
	if dlq.Topic == "" {
		return Consumer
	}
	return Operator
}

// TransactionalID is the transactional id under which every replayer of a source topic writes.
// That it is the same for all is what makes them fence each other.
func TransactionalID(source string) string { return "switchback-replayer-" + source }
