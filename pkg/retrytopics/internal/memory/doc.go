// Package memory is what an instance knows of the keys of one partition number: the order of each key, its last effective
// event, and its newest version. It judges events (Past.Judge), takes what took effect (Partition.Apply), reads itself
// from records (RestoreState, RestoreLedger) and writes itself into records (Encode). A change is effective at once; later
// it is committed, or undone by the partition's successor. Package memory knows no session, no client and no engine, and
// it decides no attempt.
package memory
