// Command consumer runs a Switchback pipeline: it maps features from a Kafka topic onto a target schema, retries what
// fails transiently in tiered retry topics, and puts what fails permanently into a DLQ.
//
// This package holds flags, signals and exit codes only; internal/consumer does the work.
//
// Exit codes: 0 done, 1 runtime error, 2 usage or configuration, 4 some lines of `transform` rejected or
// some expectations of `simulate --expect` broken, 130 interrupted.
package main
