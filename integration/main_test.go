package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/must"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// world is what the tests share: one broker and one build of the commands. It is
// made by the first test that asks for it and not in TestMain: `go test` notes
// which files and variables a result depends on only while tests run, and would
// else answer with the result of another broker or of older commands.
type world struct {
	kafka    *broker.Broker
	commands proc.Binaries
	dir      string
}

var shared struct {
	sync.Once
	world
	err error
}

// together is how many parallel tests run at a time at least. For most of their time they wait for pauses, tiers and leases
// of the processes that they start.
const together = 8

func TestMain(m *testing.M) {
	testrun.Together(together)
	code := m.Run()
	if err := shared.end(); err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		code = 1
	}
	os.Exit(code)
}

// theWorld returns what the tests share and fails the test when it cannot be had.
func theWorld(t *testing.T) *world {
	t.Helper()
	shared.Do(func() {
		if shared.err = shared.begin(); shared.err == nil {
			fmt.Println(shared.kafka)
		}
	})
	must.That(t, shared.err == nil, "%v", shared.err)
	return &shared.world
}

func (w *world) begin() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), testrun.Patient(10*time.Minute)) // a first run may fetch Kafka
	defer cancel()
	if w.dir, err = os.MkdirTemp("", "switchback-commands-"); err != nil {
		return err
	}
	if w.commands, err = proc.Build(ctx, w.dir, "consumer", "replayer"); err != nil {
		return fmt.Errorf("build the commands: %w", err)
	}
	if w.kafka, err = broker.Start(ctx); err != nil {
		return fmt.Errorf("get a broker: %w", err)
	}
	return nil
}

func (w *world) end() error {
	var closed error
	if w.kafka != nil {
		closed = w.kafka.Close()
	}
	return errors.Join(closed, os.RemoveAll(w.dir))
}

// beside marks a test by its tier, lets it run beside others, and looks for what it needs.
func beside(t *testing.T, tier func(testing.TB), needs ...func(*testing.T)) {
	t.Helper()
	tier(t)
	t.Parallel()
	for _, need := range needs {
		need(t)
	}
}
