package partition

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/attempt"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/instance"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/memory"
	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// State is an instance's state of one partition number, over the source and the tiers, while it owns it.
type State struct {
	Partition int32
	attempt.State
	Restored bool   // guarded by the session's mutex
	Head     []byte // of its hash chain, as of the last commit; owned by the committing goroutine

	Checkpoint *statetopic.Checkpoint // as of the last commit, nil if there is none; owned by the committing goroutine
	Same       int                    // number of latest generations that began without another source topic
	Pipelines  []string               // former pipeline IDs; constant once the state is open
	Promised   bool                   // commits of the partition include a checkpoint; guarded by the session's mutex
}

// ScaleOf returns what the numbers of versions count.
func ScaleOf(o *retrytopics.Ordering) statetopic.Scale {
	if !o.Versioned {
		return statetopic.ScaleOffset
	}
	return statetopic.ScaleOf(o.Versions.Of)
}

// settings returns the settings of a partition's memory.
func settings(c *retrytopics.Config) memory.Settings {
	return memory.Settings{
		StateTopic: c.Ordering.StateTopic, LedgerTopic: c.Dedupe.LedgerTopic, Scale: ScaleOf(&c.Ordering), Window: c.Dedupe.Window, MaxKeys: c.Dedupe.MaxKeys,
		Versions: c.Ordering.RemembersVersions(), MaxVersions: c.Ordering.Versions.MaxKeys, DropVersions: c.Ordering.Versions.Keep == retrytopics.KeepWindow,
	}
}

// NewState returns the empty state of a partition.
func NewState(in *instance.Instance, partition int32) *State {
	kept := settings(&in.Cfg)
	kept.Forgotten = &in.Forgotten
	return &State{Partition: partition, State: attempt.State{Memory: memory.New(partition, kept)}}
}

// Open makes the state ready for attempts, after everything committed has been read. The session's mutex is held.
func (state *State) Open() {
	state.Memory.Open()
	state.Restored = true
}

// Successor returns the state as of the last commit, for the repeated attempts. Earlier attempts that still run change
// only the old state.
func (state *State) Successor() *State {
	next := *state
	next.Memory = state.Memory.Successor()
	return &next
}

// RestoreState applies a record of the state topic: the state of a key, the version of a key, or the checkpoint. The
// last of each counts.
func (state *State) RestoreState(r *kgo.Record) error {
	if ofKey, err := state.Memory.RestoreState(r.Key, r.Value); ofKey {
		return err
	}
	return state.restoreCheckpoint(r.Value)
}

// restoreCheckpoint applies a checkpoint; the last one counts.
func (state *State) restoreCheckpoint(value []byte) error {
	cp, err := statetopic.DecodeCheckpoint(value)
	if err == nil {
		state.Checkpoint, state.Generation, state.Same, state.Promised, state.Pipelines = cp, cp.Generation, cp.Same, true, cp.Pipelines
	}
	return err
}

// Evidence adds the content of the partition's memory.
func (state *State) Evidence(commits memory.Evidence) memory.Evidence {
	size := state.Memory.Size()
	commits.Checkpoint = state.Checkpoint
	commits.Remembers = size.Orders > 0 || size.Ledger > 0 || size.Versions > 0
	return commits
}

// Forgotten returns the offset of a memory topic before which records are ignored.
func (state *State) Forgotten(topic, ledger string) int64 {
	if state.Checkpoint == nil || topic != ledger {
		return 0
	}
	return state.Checkpoint.LedgerFrom
}
