// Package header reads and writes the control headers: the text that a record carries about itself from topic to topic, and the wire
// contract between the engine, the replayer and everybody who looks at a pipeline from outside.
//
// [Control] holds what the control headers of one record say, [ParseControl] reads them, [Control.AppendTo] writes them. [Pointer] is
// the header of a dead letter whose original stays in the source topic.
//
// The package does no I/O, decides nothing, and bounds whatever it reads.
package header
