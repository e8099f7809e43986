// Package sink writes features into a table of PostGIS, beside the output topic: one row for each key, with its newest state.
//
// A transaction of Kafka cannot cover one of a database. So each write is an upsert that may come twice, or late, and leaves
// the same table (S0-6): a second table, the guard, has the version of what was written last for each key, and its row changes
// in the same transaction as the feature's. What is older than that changes nothing. A delete takes the feature's row
// away and leaves the guard's, so that an older event cannot bring it back.
//
// Writes of many records that are under way at the same time go to the database as one transaction, all or none. When it fails
// because of one of them, or because it is too much, it is divided until the failure is that record's own (S4-3, S0-4); the
// others are written. A deadlock is tried again at once. While the database is down records are deferred (see internal/breaker).
//
// A fault of the table, the login or the disk is no fault of a record: the catalog is compared with the configuration, at the
// start and before any row is condemned, and what does not fit pauses the records that it affects (docs/decisions/0063).
//
// While it writes, the package makes no table; it says how it has to be ([DDL]), makes it when it is told to ([Ensure]), takes its rows to another key
// ([Rekey]), and compares them with the output topic ([Verify]). It decides nothing about a record.
package sink
