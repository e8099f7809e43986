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

// Kafka is the cluster and the network in front of it. Its methods are safe for concurrent use.
type Kafka struct {
	network *kfake.VirtualNetwork
	options []kfake.Opt
	addrs   []string

	mu      sync.Mutex
	cluster *kfake.Cluster // nil while it is down
	held    []*heldFault   // those that hold until they are removed, over restarts too
	ports   int            // given out
}

// firstPort is that of the first broker.
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

// Up starts the brokers, with what they had when they went down.
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

// heldFault is a fault that holds until it is removed.
type heldFault struct {
	fault  kfake.Fault
	handle *kfake.FaultHandle // with the cluster that runs
}

// Hold lets a fault hold while f runs.
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

// NextPort is a port for a further broker. It is called within Do.
func (k *Kafka) NextPort() int {
	k.ports++
	return firstPort + len(k.addrs) + k.ports
}

// Close stops the brokers permanently.
func (k *Kafka) Close() { k.Down() }

// host is a place in the network that nothing happens to, but for the brokers' own faults.
func (k *Kafka) host() *Host { return newHost(k.dial) }

func (k *Kafka) dial(ctx context.Context, network, address string) (net.Conn, error) {
	return k.network.DialContext(ctx, network, address)
}

// client is a client for the world's own ends.
func (k *Kafka) client(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.Dialer(k.host().Dial), kgo.SeedBrokers(k.addrs...), kgo.DisableClientMetrics(), kgo.MetadataMinAge(time.Second),
	}, opts...)...)
}

// owned tells what the group has assigned to the members of a client.
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
