package topics

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// S4-10: what waits in a tier must not expire; of the other topics that is for their owner to know.
func TestBlocks_S4_10(t *testing.T) {
	for _, role := range Roles() {
		for _, kind := range FaultKinds() {
			always := kind == FaultMissing || kind == FaultPartitions
			expires := kind == FaultRetention || kind == FaultCleanup
			if got := (Fault{Role: role, Kind: kind}).Blocks(); got != (always || expires && role == RoleTier) {
				t.Errorf("%s of %s blocks: %v", kind, role, got)
			}
		}
	}
}

// S3-1: a former tier says what waits in it, or that it is empty; one in which something waits is held to what a tier is held to.
// No command deletes it: a group that passed over the records of another pipeline has a commit in a live tier of that one.
func TestFindFormer_S3_1(t *testing.T) {
	admin, cfg := broker(t), parse(t, pipeline)
	ensure(t, admin, Plan(cfg))
	create1(t, admin, "features.retry-7s", 3, map[string]string{"retention.ms": "1000"})
	create1(t, admin, "features.retry-9h", 3, map[string]string{"retention.ms": "-1"})
	create1(t, admin, "features.retry-none", 3, nil)
	find := func(waiting7 int64) []Former {
		t.Helper()
		former := must.Get(FindFormer(t.Context(), admin, cfg))(t)
		if len(former) != 2 || former[0].Topic != "features.retry-7s" || former[0].Delay != 7*time.Second || former[0].Waiting != waiting7 || former[1].Waiting != 0 {
			t.Errorf("found %+v", former)
		}
		return former
	}
	if text := find(0)[0].String(); !strings.Contains(text, "do not delete it unless it is yours") {
		t.Errorf("it may be another pipeline's: %s", text)
	}
	finished := kadm.Offsets{}
	finished.AddOffset("features.retry-7s", 0, 0, -1)
	must.Get(admin.CommitOffsets(t.Context(), cfg.Source.Group, finished))(t)
	if empty := find(0)[0].String(); strings.Contains(empty, "kafka-topics.sh") || !strings.Contains(empty, "no other pipeline") {
		t.Errorf("%s", empty)
	}
	faultsOf := func() []Fault {
		t.Helper()
		plan := must.Get(PlanOn(t.Context(), admin, cfg))(t)
		return check(t, admin, plan)
	}
	if faults := faultsOf(); len(faults) != 0 {
		t.Errorf("while it is empty: %v", faults)
	}
	produce(t, admin, "features.retry-7s", 4)
	if text := find(4)[0].String(); !strings.Contains(text, "4 records wait") {
		t.Errorf("%s", text)
	}
	if faults := faultsOf(); len(faults) != 1 || !faults[0].Blocks() || !strings.Contains(faults[0].Fix, "--entity-name features.retry-7s --add-config retention.ms=-1") {
		t.Errorf("with records that expire: %v", faults)
	}
}

// S3-1: a topic of somebody else that has the name of a tier keeps no pipeline from starting.
func TestPlanOn_S3_1_aTopicOfSomebodyElse(t *testing.T) {
	admin, cfg := broker(t), parse(t, pipeline)
	ensure(t, admin, Plan(cfg))
	create1(t, admin, "features.retry-7s", 4, map[string]string{"retention.ms": "1000", "cleanup.policy": "compact"})
	produce(t, admin, "features.retry-7s", 4)
	plan := must.Get(PlanOn(t.Context(), admin, cfg))(t)
	if faults := check(t, admin, plan); len(faults) != 0 {
		t.Errorf("%v", faults)
	}
}

// produce writes records to a topic.
func produce(t *testing.T, admin *kadm.Client, topic string, n int) {
	t.Helper()
	address := must.Get(bootstrap(t.Context(), admin))(t)
	client := must.Get(kgo.NewClient(kgo.SeedBrokers(address)))(t)
	defer client.Close()
	for range n {
		must.Do(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Key: []byte("k"), Value: []byte("v")}).FirstErr())
	}
}
