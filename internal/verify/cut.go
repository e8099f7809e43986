package verify

import (
	"time"

	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Spot is one partition of one topic.
type Spot struct {
	Topic     string
	Partition int32
}

// Mark is what a cut says of one partition of the source or a tier. Offset -1 of a commit: nothing is finished.
type Mark struct {
	Start, End int64              // of what was read, Start being where the log began
	Before     retrytopics.Commit // read before End was
	After      retrytopics.Commit // read when everything up to End had been read
}

// Cut is the moment for which an account is judged. What was finished before has its results in the account; what was not finished
// afterwards has not. In between lies what moves meanwhile.
type Cut struct {
	At    time.Time
	Marks map[Spot]Mark
	// Tiers are the topics that hold what waits.
	Tiers []string
	// Consumed says which partitions a member of the group has now; nil while the group is empty or its partitions are moving.
	Consumed map[Spot]bool
	Members  int
	// Compacted are the topics whose records can be gone from the middle.
	Compacted map[string]bool
	// Foreign says that the group's memory belongs to a topic that was deleted and re-created: no position can be compared.
	Foreign bool
	// AtLeastOnce: the pipeline may deliver again after a crash.
	AtLeastOnce bool
	// Output, DLQ and Audit are the topics that hold the ends.
	Output, DLQ, Audit string
}

// stage says how far the group is with one record.
type stage int

const (
	done   stage = iota // finished before the cut, so its results are in the account
	moving              // finished meanwhile
	open                // not finished
)

func (m Mark) stage(offset int64) stage {
	switch {
	case m.Before.Finished(offset):
		return done
	case m.After.Finished(offset):
		return moving
	}
	return open
}

// partitions gives how many partitions the source has.
func (c *Cut) partitions(source string) (n int32) {
	for spot := range c.Marks {
		if spot.Topic == source {
			n = max(n, spot.Partition+1)
		}
	}
	return n
}
