package retrytopics

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// HashChain adds records to transactions that depend on earlier ones of the same partition, such as the links of a hash
// chain. A Journal cannot: attempts end concurrently, and some transactions abort. A partition has one owner at a time,
// and each transaction contains the head that it moves, so the chain has no gap and no fork, whatever crashes. It needs
// ExactlyOnce.
type HashChain struct {
	// HeadTopic is compacted, has the partitions of the source, and keeps the head of each. Empty: there is no hash
	// chain.
	HeadTopic string
	// Extend returns the records that a transaction adds for one partition, and the new head. head is that of the last
	// committed transaction, nil at first; events are the partition's events in the order in which they ended. It is
	// called from one goroutine, and again for the same events after an abort. An unchanged head adds nothing.
	Extend func(partition int32, head []byte, events []*Event) (records []*kgo.Record, next []byte, err error)
}

// On reports whether there is a hash chain.
func (t HashChain) On() bool { return t.HeadTopic != "" }

func (t HashChain) faults(d Delivery) []error {
	var faults []error
	if t.On() && t.Extend == nil {
		faults = append(faults, fmt.Errorf("Journal.HashChain has the topic %s and no Extend: set it to a function", t.HeadTopic))
	}
	if t.On() && d != ExactlyOnce {
		faults = append(faults, fmt.Errorf("Journal.HashChain needs the delivery %s; with %s a crash would fork it", ExactlyOnce, d))
	}
	return faults
}
