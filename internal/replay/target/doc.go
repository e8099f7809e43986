// Package target decides where dead letters go back to, and which record goes there: key, value, partition, the headers
// that the rules of the pipeline file select, and the control headers of the replay.
//
// The dead letters of a pipeline go to its source topic or to one other topic. Those of a DLQ without a pipeline go to
// the topics that their headers name. These names are untrusted: the package refuses internal topics, the topics of
// pipelines, and topics that do not exist or would not keep the record. For compacted topics, [Newest] finds which keys
// have newer values.
//
// The package only reads from the cluster.
package target
