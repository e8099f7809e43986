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

// Kind is the kind of a broker.
type Kind string

// These are the kinds of brokers, in the order in which they are tried.
const (
	External  Kind = "external"  // the addresses of KAFKA_BROKERS
	Container Kind = "container" // testcontainers-go, in its own process
	Jars      Kind = "jars"      // Apache Kafka's jars, started by this package
	Kfake     Kind = "kfake"     // franz-go's fake, inside the test's process
)

// Kinds lists every kind.
func Kinds() []Kind { return []Kind{External, Container, Jars, Kfake} }

// Broker is a running broker. Close stops what was started.
type Broker struct {
	Kind  Kind
	Addrs []string
	Why   string // why this kind was chosen

	clusterID string
	close     func() error
}

// Real reports whether the broker is Apache Kafka or a compatible server, so that tests of fencing and crashes are
// meaningful. It is false for a KAFKA_BROKERS that points to kfake.
func (b *Broker) Real() bool { return b.Kind != Kfake && b.clusterID != fakeClusterID }

// Close stops what Start started. It does not stop a broker of KAFKA_BROKERS.
func (b *Broker) Close() error {
	if b.close == nil {
		return nil
	}
	return b.close()
}

// String returns the line that a test run prints once.
func (b *Broker) String() string {
	return fmt.Sprintf("broker under test: %s at %s (%s)", b.Kind, strings.Join(b.Addrs, ","), b.Why)
}

// await waits until the broker answers a metadata request that includes the broker itself, and stores the cluster ID.
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
