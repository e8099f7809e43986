package deadletters

import (
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Writer is the writer of a state. It is a closed list (see [Writers]).
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

// WriterOf returns the writer of a state with this DLQ position. Only the replayer knows that position: the consumer
// finishes the replay by its own record alone.
func WriterOf(dlq header.Position) Writer {
	if dlq.Topic == "" {
		return Consumer
	}
	return Operator
}

// TransactionalID returns the transactional ID of every replayer of a source topic. Sharing it makes replayers fence
// each other.
func TransactionalID(source string) string { return "switchback-replayer-" + source }
