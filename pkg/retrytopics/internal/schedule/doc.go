// Package schedule decides which record an engine attempts next.
//
//	Add ──▶ waits until due ──▶ waits for room ──▶ runnable ──▶ Next ──▶ attempt ──▶ Exchange ──▶ Harvest
//	                            (see gate)        ▲  ▲                  │
//	                                              │  └── PutBack ◀──────┤ the attempt does not count
//	                                              └── probe ◀── Defer ◀─┘ a dependency is down
//
// A Scheduler starts a record at its time and never earlier. It starts one record of a key at a time, in the order in
// which they became runnable, and records of different keys concurrently. It bounds three things: the bytes of running
// records, the results that wait for a transaction, and the finished offsets beyond the committed one, which must fit
// into the commit's metadata.
//
// It starts nothing while the engine is paused, while nothing can be committed (but for one probe at a time), and once
// it drains. The records that met a dependency that is down wait for that dependency alone: one of them probes when its
// time has come, and the others follow once a probe succeeded.
//
// The package does not know the meaning of a record: it has no offsets to commit, no transaction, no client and no memory of
// keys. It reads no header: the caller sets when a record is due. It does not fetch, and does not pause fetching.
package schedule
