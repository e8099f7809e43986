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

// Mark is a cut's view of one partition of the source or a tier. Offset -1 of a commit: nothing is finished.
type Mark struct {
	Start, End int64              // of what was read; Start is the log start
	Before     retrytopics.Commit // read before End
	After      retrytopics.Commit // read after everything up to End
}

// Cut is the moment for which an account is judged. What was finished before it has its results in the account; what was
// not finished after it has none. Between the two lies what moves meanwhile.
type Cut struct {
	At    time.Time
	Marks map[Spot]Mark
	// Tiers are the topics with waiting records.
	Tiers []string
	// Consumed has the partitions that a group member has now; nil while the group is empty or rebalances.
	Consumed map[Spot]bool
	Members  int
	// Compacted are the topics that may have lost records in the middle.
	Compacted map[string]bool
	// Foreign means that the group's memory belongs to a topic that was deleted and re-created: no position can be
	// compared.
	Foreign bool
	// AtLeastOnce means that the pipeline may deliver again after a crash.
	AtLeastOnce bool
	// Output, DLQ and Audit are the topics with the ends of records.
	Output, DLQ, Audit string
}

// stage is how far the group is with one record.
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

// partitions returns the source's partition count.
func (c *Cut) partitions(source string) (n int32) {
	for spot := range c.Marks {
		if spot.Topic == source {
			n = max(n, spot.Partition+1)
		}
	}
	return n
}
