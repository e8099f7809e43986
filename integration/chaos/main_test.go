//go:build unix

package chaos

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/integration/chaos/worker"
	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/proxy"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

var (
	minutesFlag = flag.Float64("chaos.minutes", 0, "how long each mixed test runs; 0: the short form")
	seedFlag    = flag.Uint64("chaos.seed", 0, "seed of records and faults; 0: that of SWITCHBACK_TEST_SEED")
)

// environment has the resources that the tests share: one broker, which they may kill, and a proxy in front of its
// second listener. The first test that needs it creates it.
type environment struct {
	kafka *broker.Owned
	proxy *proxy.Proxy
}

var shared struct {
	sync.Once
	environment
	err    error
	failed atomic.Bool // a test has failed, so the data is kept as evidence
}

func TestMain(m *testing.M) {
	if text := os.Getenv(worker.Env); text != "" {
		os.Exit(worker.Run(text, os.Stderr))
	}
	flag.Parse()
	if err := parallelTests(); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(2)
	}
	code := m.Run()
	if err := shared.end(); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		code = 1
	}
	os.Exit(code)
}

// parallelTests lets more tests run in parallel than there are processors, unless the command line sets the number.
// Tests spend most of their time waiting for timeouts.
func parallelTests() error {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given || runtime.GOMAXPROCS(0) > 2 {
		return nil
	}
	return flag.Set("test.parallel", "3")
}

// sharedEnvironment returns the shared resources of the tests. Without Kafka it skips the test, or fails it if the
// environment demands a real broker.
func sharedEnvironment(t *testing.T) *environment {
	t.Helper()
	shared.Do(func() { shared.err = shared.begin() })
	switch {
	case shared.err == nil:
	case broker.Absent(shared.err) && !broker.Forced():
		t.Skipf("needs a real Kafka that a test may kill, from its jars: %v (%s=kafka demands it)", shared.err, broker.EnvForce)
	default:
		t.Fatalf("get a broker: %v", shared.err)
	}
	return &shared.environment
}

// brokerSettings makes the broker detect lost clients and transactions within seconds instead of minutes.
func brokerSettings() map[string]string {
	return map[string]string{
		"group.min.session.timeout.ms":                                "1000",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
	}
}

func (w *environment) begin() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), testrun.Patient(10*time.Minute)) // the first run may download Kafka
	defer cancel()
	if w.proxy, err = proxy.Listen(); err != nil {
		return err
	}
	if w.kafka, err = broker.Own(ctx, broker.OwnOptions{Via: w.proxy.Addr(), Settings: brokerSettings()}); err != nil {
		return err
	}
	w.proxy.Forward(w.kafka.Behind)
	fmt.Printf("broker under fire: Apache Kafka at %s, behind a proxy at %s\n", w.kafka.Addr, w.proxy.Addr())
	return nil
}

func (w *environment) end() error {
	if w.proxy == nil {
		return nil
	}
	err := w.proxy.Close()
	if w.kafka == nil {
		return err
	}
	if shared.failed.Load() {
		fmt.Printf("the broker's data and output are kept in %s\n", w.kafka.Dir)
	}
	if failed := w.kafka.Close(shared.failed.Load()); failed != nil {
		err = failed
	}
	return err
}
