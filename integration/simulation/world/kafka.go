package world

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/simulation/plan"
)

// Kafka is the cluster with the network in front of it. Its methods are safe for concurrent use.
type Kafka struct {
	network *kfake.VirtualNetwork
	options []kfake.Opt
	addrs   []string

	mu      sync.Mutex
	cluster *kfake.Cluster // nil while it is down
	held    []*heldFault   // faults that last until they are removed, also over restarts
	ports   int            // number of assigned ports
}

// firstPort is the port of the first broker.
const firstPort = 9092

func newKafka(c plan.Cluster, dir string) (*Kafka, error) {
	k := &Kafka{network: &kfake.VirtualNetwork{}}
	ports := make([]int, c.Brokers)
	for i := range ports {
		ports[i] = firstPort + i
	}
	k.options = []kfake.Opt{
		kfake.ListenFn(k.network.Listen), kfake.Ports(ports...), kfake.SeedTopics(c.Partitions, Source, Output, Journal, Losses, Trail),
	}
	if dir != "" {
		k.options = append(k.options, kfake.DataDir(dir))
	}
	if err := k.Up(); err != nil {
		return nil, err
	}
	k.addrs = k.cluster.ListenAddrs()
	return k, nil
}

// Up starts the brokers with the data that they had when they stopped.
func (k *Kafka) Up() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cluster != nil {
		return nil
	}
	cluster, err := kfake.NewCluster(k.options...)
	if err != nil {
		return err
	}
	k.cluster = cluster
	for _, f := range k.held {
		f.handle = cluster.Fault(f.fault)
	}
	return nil
}

// Down stops all brokers.
func (k *Kafka) Down() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cluster != nil {
		k.cluster.Close()
		k.cluster = nil
	}
}

// Do calls f with the cluster, unless it is down.
func (k *Kafka) Do(f func(*kfake.Cluster)) (done bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cluster == nil {
		return false
	}
	f(k.cluster)
	return true
}

// heldFault is a fault that lasts until it is removed.
type heldFault struct {
	fault  kfake.Fault
	handle *kfake.FaultHandle // of the running cluster
}

// Hold applies a fault while f runs.
func (k *Kafka) Hold(fault kfake.Fault, f func()) {
	one := &heldFault{fault: fault}
	k.mu.Lock()
	k.held = append(k.held, one)
	if k.cluster != nil {
		one.handle = k.cluster.Fault(fault)
	}
	k.mu.Unlock()
	f()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held = slices.DeleteFunc(k.held, func(other *heldFault) bool { return other == one })
	if k.cluster != nil && one.handle != nil {
		one.handle.Remove()
	}
}

// NextPort returns a port for another broker. It must be called within Do.
func (k *Kafka) NextPort() int {
	k.ports++
	return firstPort + len(k.addrs) + k.ports
}

// Close stops the brokers for good.
func (k *Kafka) Close() { k.Down() }

// host returns a connection to the network that is not disturbed by faults other than those of the brokers.
func (k *Kafka) host() *Host { return newHost(k.dial) }

func (k *Kafka) dial(ctx context.Context, network, address string) (net.Conn, error) {
	return k.network.DialContext(ctx, network, address)
}

// client returns a client for the world's own use.
func (k *Kafka) client(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.Dialer(k.host().Dial), kgo.SeedBrokers(k.addrs...), kgo.DisableClientMetrics(), kgo.MetadataMinAge(time.Second),
	}, opts...)...)
}

// owned returns a function that reports whether the group has assigned a partition to a client's members.
func (k *Kafka) owned(client string) func(topic string, partition int32) bool {
	var all []map[string][]int32
	up := k.Do(func(c *kfake.Cluster) {
		group := c.GroupInfo(Group)
		if group == nil {
			return
		}
		for _, m := range group.Members {
			if m.ClientID == client {
				all = append(all, m.Assignment)
			}
		}
	})
	return func(topic string, partition int32) bool {
		return !up || slices.ContainsFunc(all, func(assigned map[string][]int32) bool { return slices.Contains(assigned[topic], partition) })
	}
}
