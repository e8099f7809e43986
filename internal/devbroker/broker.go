package devbroker

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Banner is the first output of a program that runs on this broker.
const Banner = `
  ┌────────────────────────────────────────────────────────────────────┐
  │  EMBEDDED BROKER: for looking and learning, NOT FOR YOUR DATA.     │
  │  It lives and dies with this process, and shows the flow, not      │
  │  Kafka's guarantees. For real work: consumer run -c pipeline.yaml  │
  └────────────────────────────────────────────────────────────────────┘
`

// PortFlag is the command line flag that sets the broker's port.
const PortFlag = "--port"

// describeTopicPartitions is a request that kfake answers with a null list, which Kafka's Java AdminClient cannot read
// (it ends with a NullPointerException). Without the request the client uses an older one.
const describeTopicPartitions = 75

// Options configure a [Broker].
type Options struct {
	// Port is the TCP port on 127.0.0.1; 0 takes a free one.
	Port int
	// DataDir keeps topics, groups and offsets over restarts. If it is empty, everything is kept in memory, which grows
	// until the process ends.
	DataDir string
	// ConfiguredBrokers are the real brokers that the file or SWITCHBACK_KAFKA_BROKERS names. If there is one, Start
	// returns a *RealBrokersError.
	ConfiguredBrokers []string
}

// Broker is a running embedded broker.
type Broker struct {
	cluster *kfake.Cluster
	addr    string
}

// Start starts the broker. The error is a *RealBrokersError, a *PortError, or names the fault of the data folder.
func Start(o Options) (*Broker, error) {
	if named := slices.DeleteFunc(slices.Clone(o.ConfiguredBrokers), func(b string) bool { return b == "" }); len(named) > 0 {
		return nil, &RealBrokersError{Brokers: named}
	}
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(describeTopicPartitions, -1)
	opts := []kfake.Opt{
		kfake.Ports(o.Port),
		kfake.MaxVersions(versions),
		kfake.WithLogger(silent{}),
		// With the default of 5 s, members of the new group protocol would join slowly.
		kfake.BrokerConfigs(map[string]string{"group.consumer.heartbeat.interval.ms": "100"}),
	}
	if o.DataDir != "" {
		opts = append(opts, kfake.DataDir(o.DataDir))
	}
	cluster, err := kfake.NewCluster(opts...)
	if err != nil {
		return nil, startError(o, err)
	}
	addrs := cluster.ListenAddrs()
	if len(addrs) != 1 {
		cluster.Close()
		return nil, fmt.Errorf("the embedded broker listens on %d addresses, want 1", len(addrs))
	}
	return &Broker{cluster: cluster, addr: addrs[0]}, nil
}

// startError distinguishes an unusable port from other errors.
func startError(o Options, err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "listen" {
		return &PortError{Service: "embedded broker", Port: o.Port, Flag: PortFlag, Err: err}
	}
	if o.DataDir != "" {
		return fmt.Errorf("start the embedded broker on the data folder %s: %w", o.DataDir, err)
	}
	return fmt.Errorf("start the embedded broker: %w", err)
}

// Addr is the host:port to connect to.
func (b *Broker) Addr() string { return b.addr }

// Close stops the broker and closes every connection. With a data folder, it first writes the state.
func (b *Broker) Close() { b.cluster.Close() }

// silent discards the log of kfake, which is about internal requests.
type silent struct{}

// Logf implements kfake.Logger.
func (silent) Logf(kfake.LogLevel, string, ...any) {}
