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

// S4-12: an instance that the group has given up, as when the brokers are gone, still knows what waited; one that hands its
// partitions over knows that nothing does.
func TestSession_S4_12_whatWaitedIsKnownAfterALossAndNotAfterAHandOver(t *testing.T) {
	client, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	all := map[string][]int32{"in": {0}}
	for name, c := range map[string]struct {
		end func(s *session)
		lag int64
	}{
		"lost":        {func(s *session) { s.onLost(t.Context(), client, all) }, 7},
		"lost_before": {func(s *session) { s.told = false; s.onLost(t.Context(), client, all) }, 0},
		"handed_over": {func(s *session) { s.onGone(t.Context(), client, all) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := unconnected(t, Config{Handler: nothing})
			s.link = plain{client}
			s.onAssignment(all)
			s.lanes[topicPartition{"in", 0}].held = 7
			c.end(s)
			s.remember() // the session's end
			if got := s.e.Stats().Lag; got != c.lag {
				t.Errorf("lag %d, want %d", got, c.lag)
			}
		})
	}
}
