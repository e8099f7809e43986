package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
)

// Cluster has several nodes for one test, each of them broker and controller. The internal topics have as many replicas
// as there are nodes, and a write needs all replicas but one. Its methods must be called by one goroutine at a time.
type Cluster struct {
	Nodes []*Owned
}

// OwnCluster starts n nodes under the conditions of [Own].
func OwnCluster(ctx context.Context, n int) (_ *Cluster, err error) {
	ports, err := lowPorts(n * portsOfANode)
	if err != nil {
		return nil, err
	}
	voters := make([]string, n)
	for i := range voters {
		voters[i] = fmt.Sprintf("%d@%s", i+1, ports[i*portsOfANode+2])
	}
	c := &Cluster{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	replicas, needed := strconv.Itoa(n), strconv.Itoa(max(1, n-1))
	for i := range n {
		b, err := prepare(ctx, OwnOptions{Settings: map[string]string{
			"node.id": strconv.Itoa(i + 1), "controller.quorum.voters": strings.Join(voters, ","),
			"min.insync.replicas": needed, "default.replication.factor": replicas, "offsets.topic.replication.factor": replicas,
			"transaction.state.log.replication.factor": replicas, "transaction.state.log.min.isr": needed,
		}}, ports[i*portsOfANode:(i+1)*portsOfANode])
		if err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, b)
	}
	starts, ctx := errgroup.WithContext(ctx) // no node answers before most of them have started
	for _, b := range c.Nodes {
		starts.Go(func() error { return b.Start(ctx) })
	}
	return c, starts.Wait()
}

// Addrs returns the addresses of the nodes.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, b := range c.Nodes {
		addrs[i] = b.Addr
	}
	return addrs
}

// Whole waits until all nodes are up and all replicas are in sync, as operators do between two restarts.
func (c *Cluster) Whole(ctx context.Context) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Addrs()...))
	if err != nil {
		return err
	}
	defer cl.Close()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		meta, err := kadm.NewClient(cl).Metadata(ctx)
		if err == nil && len(meta.Brokers) == len(c.Nodes) && inSync(meta.Topics) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the cluster is incomplete: %w (last: %d nodes, %v)", ctx.Err(), len(meta.Brokers), err)
		}
	}
}

func inSync(topics kadm.TopicDetails) bool {
	for _, t := range topics {
		for _, p := range t.Partitions {
			if p.Err != nil || len(p.ISR) < len(p.Replicas) {
				return false
			}
		}
	}
	return true
}

// Close stops the nodes and removes their folders.
func (c *Cluster) Close() error {
	var errs []error
	for _, b := range c.Nodes {
		errs = append(errs, b.Close(false))
	}
	return errors.Join(errs...)
}
