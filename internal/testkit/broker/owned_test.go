package broker

import (
	"context"
	"os"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// What the chaos suite rests on: a killed node comes back with the data it had,
// on the same addresses, and nothing is left of it in the end.
func TestOwnedComesBackWithItsData(t *testing.T) {
	testrun.Nightly(t) // integration restarts such a node
	b, err := Own(t.Context(), OwnOptions{})
	if Absent(err) && !Forced() {
		t.Skipf("%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	topics := func(addr string) kadm.TopicDetails {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(startBound))
		defer cancel()
		cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		adm := kadm.NewClient(cl)
		if addr == b.Addr {
			_, _ = adm.CreateTopic(ctx, 1, 1, nil, "kept") // there already the second time
		}
		details, err := adm.ListTopics(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return details
	}
	topics(b.Addr)
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !topics(b.Behind).Has("kept") {
		t.Error("the topic is gone after a kill")
	}
	if err := b.Close(false); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(b.Dir); !os.IsNotExist(err) {
		t.Errorf("the node's folder is still there: %v", err)
	}
}
