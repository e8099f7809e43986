// Package dialects reads the headers of dead letters that other software wrote: Spring Kafka,
// Kafka Connect, Kafka Streams, SmallRye, share groups, watermill, Karafka and others.
//
// The frameworks differ in more than names. Numbers are binary in one and decimal text in the
// next. A record that died twice has its headers twice, and in one framework the first is the
// newest, in another the last. Some names are used by two frameworks with different meanings. Each
// rule stands beside the framework it belongs to, with where it was seen.
//
// Headers come from outside: whatever is in them, reading gives what could be understood, says
// what could not, and never fails. The package knows headers only; it reads no topic.
package dialects
