// Package proof lets a consumer believe a replay: the replayer signs what it puts back into the source topic, and the consumer
// verifies it. Everybody who may produce to the source topic can write any header, so without a proof a record could claim
// another's dead letter or a position that it never had.
//
// A proof is an HMAC-SHA256 (RFC 2104) by a key of the pipeline over topic, key, value and all control headers of the record. The
// package keeps no keys and reads no topics; internal/control does. It says nothing about when a record was signed: a copy of a
// replay has a valid proof too.
package proof
