// Package header reads and writes the control headers: the text that a record carries about itself from topic to topic.
// They are the wire contract between the engine, the replayer and everything that reads a pipeline's topics from
// outside.
//
// [Control] has the control headers of one record, [ParseControl] reads them, [Control.AppendTo] writes them. [Pointer]
// is the header of a dead letter whose original stays in the source topic.
//
// The package does no I/O, decides nothing, and bounds everything it reads.
package header
