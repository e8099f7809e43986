// Package sinkverify compares the table of a sink with the output topic, key by key, and repairs what differs.
//
//	output topic ──▶ newest record of each key ──▶ in batches, beside the table ──▶ facts ──▶ verdict for each key
//	                                                                table ──▶ rows that no key has ──▶ verdict
//
// The database itself compares a row with what the sink would write, so that types need not be understood twice. What a fact means is
// decided by pure functions (judge). It needs no pause of the pipeline: what the topic says is read before what the table says, and the
// table is written before the topic, so that a table that is behind is wrong, and one that is ahead may be right.
//
// Memory: about 80 bytes for each key of the output topic, and one batch of features.
package sinkverify
