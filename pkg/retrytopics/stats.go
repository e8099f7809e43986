package retrytopics

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Stats is a snapshot of this instance's partitions.
type Stats struct {
	Joined      bool             // the instance is a member of its group
	Silence     time.Duration    // since the last answer of the group's coordinator
	Uncommitted time.Duration    // how long the oldest finished record has waited for its commit
	Partitions  int              // of the source topic
	Lag         int64            // unfinished records of the source
	LagTime     time.Duration    // age of the oldest of them; 0 if there is none
	Tiers       []TierStats      // in the order of the configuration, then the former ones
	Deferred    []DeferredStats  // dependencies that are down, by name
	Stuck       []StuckStats     // handlers that run longer than their time limit
	Blocked     Blocked          // why nothing is committed; zero if commits work
	Lost        map[string]int64 // upper bound of the records that were deleted before they were consumed, by topic; see Loss
	ClockSkew   int64            // accepted records whose timestamp lay more than a second in the future
	Doubts      map[Doubt]int64  // accepted records whose replay headers were not trusted
	Versions    VersionStats     // newest versions of keys
	Paused      string           // why the engine is paused, see Pause of the engine; empty if it is not
}

// DeferredStats counts the records that wait for an unavailable dependency. See UnavailableError.
type DeferredStats struct {
	Dependency string
	Records    int64     // in memory
	RetryAt    time.Time // when one of them probes
}

// TierStats counts the records that wait in one tier's partitions of this instance.
type TierStats struct {
	policy.Tier
	Former  bool          // not configured; see Retries.TierPrefix
	Waiting int64         // unfinished records
	NextDue time.Time     // of the earliest record in memory; zero if there is none
	Overdue time.Duration // how long the earliest due record has been due; 0 if none is
}

// StuckStats is a handler that runs longer than its time limit.
type StuckStats struct {
	Source header.Position // of the record, where it first appeared
	For    time.Duration   // since the attempt began
}

// VersionStats is what this instance remembers of the newest versions of keys, see Versions.
type VersionStats struct {
	Keys      int64 // with KeepWindow, those still to be removed
	Bytes     int64 // in memory
	Forgotten int64 // keys without room since the engine was created
}

// Blocked is the reason why an engine does not commit, and since when. The zero value means that it commits.
type Blocked struct {
	Reason string
	Since  time.Time
}
