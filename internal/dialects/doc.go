// Package dialects reads the headers of dead letters that other software wrote: Spring Kafka, Kafka Connect, Kafka
// Streams, SmallRye, share groups, watermill, Karafka and others.
//
// The frameworks differ in more than header names. One writes numbers in binary, the next writes decimal text. A
// record that was dead-lettered twice has its headers twice. In one framework the first header is the newest, in
// another the last one. Two frameworks use some names with different meanings. Each rule is next to its framework,
// with the place where it was observed.
//
// Headers are untrusted input. Reading never fails: it returns the values that it understands, and a description of
// every other value. The package knows only headers and reads no topic.
package dialects
