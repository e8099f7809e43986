package broker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// Kind says what stands behind a broker's address.
type Kind string

// The kinds of broker, in the order in which they are tried.
const (
	External  Kind = "external"  // the addresses of KAFKA_BROKERS
	Container Kind = "container" // testcontainers-go, in a process of its own
	Jars      Kind = "jars"      // Apache Kafka's own jars, started here
	Kfake     Kind = "kfake"     // franz-go's fake, inside the test's process
)

// Kinds lists every kind.
func Kinds() []Kind { return []Kind{External, Container, Jars, Kfake} }

// Broker is a running broker. Close it once; what was started is then gone.
type Broker struct {
	Kind  Kind
	Addrs []string
	Why   string // why this one and not another, for people

	clusterID string
	close     func() error
}

// Real reports whether Apache Kafka or a compatible server answers, so that what
// is seen of fencing and crashes counts. Whoever points KAFKA_BROKERS at kfake
// does not get a real broker by that.
func (b *Broker) Real() bool { return b.Kind != Kfake && b.clusterID != fakeClusterID }

// Close ends what Start started. It leaves a broker of KAFKA_BROKERS alone.
func (b *Broker) Close() error {
	if b.close == nil {
		return nil
	}
	return b.close()
}

// String is the line that a test run prints once.
func (b *Broker) String() string {
	return fmt.Sprintf("broker under test: %s at %s (%s)", b.Kind, strings.Join(b.Addrs, ","), b.Why)
}

// await returns once the broker answers a metadata request and knows itself, and
// notes its cluster id.
func (b *Broker) await(ctx context.Context) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addrs...))
	if err != nil {
		return err
	}
	defer cl.Close()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		try, cancel := context.WithTimeout(ctx, testrun.Patient(5*time.Second))
		meta, err := kadm.NewClient(cl).BrokerMetadata(try)
		cancel()
		if err == nil && len(meta.Brokers) > 0 {
			b.clusterID = meta.Cluster
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("no answer from %s: %w (last: %v)", strings.Join(b.Addrs, ","), ctx.Err(), err)
		}
	}
}
