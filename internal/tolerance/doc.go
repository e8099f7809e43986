// Package tolerance counts how often the fields of mapped features have no value
// (S0-2, S0-9): in a sliding window over all records, and in each batch that the
// producer names. It says which fields are beyond what the pipeline tolerates;
// what follows from that, such as holding the pipeline, others decide.
//
// It is given the time and keeps no clock; it does not look at fields that are
// required, because a feature without them never comes here.
package tolerance
