package retrytopics

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// partitionState is what an instance knows of one partition number, over the source and the tiers, while it owns it.
type partitionState struct {
	partition int32
	keyState
	restored bool   // guarded by the session's mutex
	head     []byte // of its hash chain, as of the last commit; owned by the committing goroutine

	checkpoint *statetopic.Checkpoint // as of the last commit, nil if there is none; owned by the committing goroutine
	same       int                    // number of latest generations that began without another source topic
	pipelines  []string               // former pipeline IDs; constant once the state is open
	promised   bool                   // commits of the partition include a checkpoint; guarded by the session's mutex
}

// scaleOf returns what the numbers of versions count.
func scaleOf(o *Ordering) statetopic.Scale {
	if !o.Versioned {
		return statetopic.ScaleOffset
	}
	return statetopic.ScaleOf(o.Versions.Of)
}

// remembers returns what a partition's memory keeps.
func (c *Config) remembers() memory.Settings {
	return memory.Settings{
		StateTopic: c.Ordering.StateTopic, LedgerTopic: c.Dedupe.LedgerTopic, Scale: scaleOf(&c.Ordering), Window: c.Dedupe.Window, MaxKeys: c.Dedupe.MaxKeys,
		Versions: c.Ordering.RemembersVersions(), MaxVersions: c.Ordering.Versions.MaxKeys, DropVersions: c.Ordering.Versions.Keep == KeepWindow,
	}
}

// newState returns the empty state of a partition.
func newState(in *instance, partition int32) *partitionState {
	settings := in.cfg.remembers()
	settings.Forgotten = &in.forgotten
	return &partitionState{partition: partition, keyState: keyState{memory: memory.New(partition, settings)}}
}

// open makes the state ready for attempts, after everything committed has been read. The session's mutex is held.
func (state *partitionState) open() {
	state.memory.Open()
	state.restored = true
}

// successor returns the state as of the last commit, for the repeated attempts. Earlier attempts that still run change
// only the old state.
func (state *partitionState) successor() *partitionState {
	next := *state
	next.memory = state.memory.Successor()
	return &next
}

// restoreState applies a record of the state topic: the state of a key, the version of a key, or the checkpoint. The
// last of each counts.
func (state *partitionState) restoreState(r *kgo.Record) error {
	if ofKey, err := state.memory.RestoreState(r.Key, r.Value); ofKey {
		return err
	}
	return state.restoreCheckpoint(r.Value)
}

// restoreCheckpoint applies a checkpoint; the last one counts.
func (state *partitionState) restoreCheckpoint(value []byte) error {
	cp, err := statetopic.DecodeCheckpoint(value)
	if err == nil {
		state.checkpoint, state.generation, state.same, state.promised, state.pipelines = cp, cp.Generation, cp.Same, true, cp.Pipelines
	}
	return err
}

// evidence adds what the partition's memory contains.
func (state *partitionState) evidence(commits memory.Evidence) memory.Evidence {
	size := state.memory.Size()
	commits.Checkpoint = state.checkpoint
	commits.Remembers = size.Orders > 0 || size.Ledger > 0 || size.Versions > 0
	return commits
}

// forgotten returns the offset of a memory topic before which records are ignored.
func (state *partitionState) forgotten(topic, ledger string) int64 {
	if state.checkpoint == nil || topic != ledger {
		return 0
	}
	return state.checkpoint.LedgerFrom
}
