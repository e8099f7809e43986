package broker

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// A cluster of three takes writes while one of its nodes is down, whichever it is.
func TestOwnClusterWorksWithoutOneOfItsNodes(t *testing.T) {
	testrun.Nightly(t) // integration restarts such a cluster
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(3*time.Minute))
	defer cancel()
	c, err := OwnCluster(ctx, 3)
	if Absent(err) && !Forced() {
		t.Skipf("%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Addrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if _, err := kadm.NewClient(cl).CreateTopic(ctx, 6, 3, nil, "kept"); err != nil {
		t.Fatal(err)
	}
	for i, node := range c.Nodes {
		if err := c.Whole(ctx); err != nil {
			t.Fatal(err)
		}
		if err := node.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		for p := range int32(6) {
			if err := cl.ProduceSync(ctx, &kgo.Record{Topic: "kept", Partition: p}).FirstErr(); err != nil {
				t.Errorf("without node %d: partition %d: %v", i+1, p, err)
			}
		}
		if err := node.Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
