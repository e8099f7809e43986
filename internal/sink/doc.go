// Package sink writes features into a PostGIS table in addition to the output topic: one row for each key, with its
// newest state.
//
// A Kafka transaction cannot include a database transaction. Therefore each write is an upsert that may be repeated,
// or come late, and has the same result (S0-6). A second table, the guard, has the version of the last write of each
// key, and its row changes in the same transaction as the feature's. An older event changes nothing. A delete removes
// the feature's row and keeps the guard's, so that an older event cannot bring it back.
//
// Concurrent writes of many records go to the database as one transaction, all or none. If it fails because of one
// record, or because it is too large, it is divided until the failure is that record's own (S4-3, S0-4), and the
// others are written. A deadlock is retried at once. While the database is down, records are deferred (see
// internal/breaker).
//
// A fault of the table, the login or the disk is not a failure of the record. The catalog is compared with the
// configuration at the start and before any row is refused, and a mismatch pauses the records that it affects
// (docs/decisions/0063).
//
// While it writes, the package creates no table. [DDL] returns the statements that create it, [Ensure] creates it,
// [Rekey] changes the key of its rows, and [Verify] compares them with the output topic. The package decides nothing
// about a record.
package sink
