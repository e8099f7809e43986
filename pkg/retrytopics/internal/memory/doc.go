// Package memory stores what an instance remembers of the keys of one partition number: the order of each key, its
// last effective event, and its newest version. It judges events (Past.Judge), records their effects
// (Partition.Apply), restores itself from records (RestoreState, RestoreLedger) and encodes itself into records
// (Encode). A change is effective at once; later it is committed, or undone by the partition's successor. Package
// memory has no notion of sessions, clients or engines, and it decides no attempt.
package memory
