// Package proof lets a consumer trust the headers of a replay. The replayer signs the records that it produces to the
// source topic, and the consumer verifies the signature. Every producer of the source topic can write any header.
// Without a proof, a record could claim another record's dead letter or a wrong position.
//
// A proof is an HMAC-SHA256 (RFC 2104) with a key of the pipeline over topic, key, value and all control headers of the
// record. The package stores no keys and reads no topics; internal/control does both. A proof does not contain the time
// of signing, so a copy of a replay has a valid proof too.
package proof
