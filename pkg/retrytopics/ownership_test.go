package retrytopics

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Of several revocations between two transactions the client tells the first alone. A partition that was paused then is
// fetched again when it comes back: a pause outlives the assignment.
func TestSession_aPausedPartitionThatWentUntoldIsNotPausedWhenItComesBack(t *testing.T) {
	client, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s := unconnected(t, Config{Handler: nothing})
	s.link = plain{client}
	tp := topicPartition{"in", 0}
	s.lanes[tp].held = 1 << 20
	s.balance(true)
	if paused := client.PauseFetchPartitions(nil); len(paused["in"]) != 1 {
		t.Fatalf("paused %v", paused)
	}
	s.reconcile() // nothing is assigned any more
	if paused := client.PauseFetchPartitions(nil); len(s.lanes) != 0 || len(paused) != 0 {
		t.Errorf("paused %v, %d lanes are left", paused, len(s.lanes))
	}
}
