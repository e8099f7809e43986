package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/switchback-geo/switchback/internal/testkit/jars"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// Owned is one Apache Kafka node that a test may kill, stop and restart with the same data. It has two listeners: one
// for the test itself, and one that can advertise the address of a proxy. Its methods must be called by one goroutine at
// a time.
type Owned struct {
	Addr   string // the test's own listener
	Behind string // address of the listener behind the proxy
	Dir    string // settings, data and the broker's own output

	node *node
	log  *os.File
	ctl  string
}

// OwnOptions configure the node.
type OwnOptions struct {
	Via      string            // advertised address of the second listener; if empty, its own
	Settings map[string]string // in addition to the settings of every test broker
}

// Own starts a node for one test from Kafka's jars. It ignores KAFKA_BROKERS and containers, because a test must not
// kill these. The rest of the package's rules apply: it downloads nothing unless a real broker is demanded, and kfake
// does not replace it. Absent distinguishes "not on this machine" from "broken".
func Own(ctx context.Context, o OwnOptions) (*Owned, error) {
	ports, err := lowPorts(portsOfANode)
	if err != nil {
		return nil, err
	}
	b, err := prepare(ctx, o, ports)
	if err != nil {
		return nil, err
	}
	if err := b.Start(ctx); err != nil {
		return nil, errors.Join(err, b.Close(false))
	}
	return b, nil
}

// String returns the line that a test run prints once.
func (b *Owned) String() string {
	return "broker under test: Apache Kafka " + kafkaVersion + " from its jars, started for these tests only"
}

// prepare creates the folder of a node before its start.
func prepare(ctx context.Context, o OwnOptions, ports []string) (*Owned, error) {
	if os.Getenv(EnvForce) == "kfake" {
		return nil, fmt.Errorf("%w: %s=kfake, and only a real broker can be killed and started again", errAbsent, EnvForce)
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("%w: java is not installed", errAbsent)
	}
	libs, err := kafkaJars(ctx, Forced())
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "switchback-owned-kafka-")
	if err != nil {
		return nil, err
	}
	b := &Owned{Addr: ports[0], Behind: ports[1], Dir: dir, node: &node{dir: dir, java: java, libs: libs}, ctl: ports[2]}
	if err := b.format(ctx, o); err != nil {
		return nil, errors.Join(err, b.Close(false))
	}
	return b, nil
}

// Absent reports whether an error of Own means that this machine has no Kafka to start, rather than a broken one.
func Absent(err error) bool { return errors.Is(err, errAbsent) || errors.Is(err, jars.ErrAbsent) }

// portsOfANode is the number of ports of a node: its two listeners and the controller's.
const portsOfANode = 3

// format writes the node's settings and the empty storage.
func (b *Owned) format(ctx context.Context, o OwnOptions) (err error) {
	via := o.Via
	if via == "" {
		via = b.Behind
	}
	settings := nodeSettings(b.ctl)
	settings["listeners"] = "PLAINTEXT://" + b.Addr + ",VIA://" + b.Behind + ",CONTROLLER://" + b.ctl
	settings["advertised.listeners"] = "PLAINTEXT://" + b.Addr + ",VIA://" + via
	settings["listener.security.protocol.map"] += ",VIA:PLAINTEXT"
	settings["log.dirs"] = filepath.ToSlash(filepath.Join(b.Dir, "data"))
	maps.Copy(settings, o.Settings)
	if err := os.WriteFile(b.node.file("server.properties"), properties(settings), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(b.node.file("log4j2.properties"), []byte(log4j), 0o644); err != nil {
		return err
	}
	if b.log, err = os.Create(b.node.file("kafka.log")); err != nil {
		return err
	}
	return b.node.format(ctx)
}

// Start runs the node with its existing data and returns when it answers.
func (b *Owned) Start(ctx context.Context) error {
	n := &node{dir: b.node.dir, java: b.node.java, libs: b.node.libs, exited: make(chan struct{})}
	n.cmd = n.command(context.Background(), "kafka.Kafka", n.file("server.properties"))
	n.cmd.Stdout, n.cmd.Stderr = b.log, b.log
	if err := n.cmd.Start(); err != nil {
		return fmt.Errorf("start Kafka: %w", err)
	}
	b.node = n
	leash, err := proc.NewLeash(n.cmd.Process.Pid)
	go func() {
		_ = n.cmd.Wait()
		close(n.exited)
	}()
	if n.leash = leash; err != nil {
		return errors.Join(err, n.kill())
	}
	ctx, cancel := context.WithTimeout(ctx, testrun.Patient(startBound))
	defer cancel()
	go func() { // a process that has exited never answers
		select {
		case <-n.exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := (&Broker{Addrs: []string{b.Addr}}).await(ctx); err != nil {
		return errors.Join(fmt.Errorf("%w\n%s", err, b.Output(4096)), n.kill())
	}
	return nil
}

// Kill ends the node with SIGKILL: it flushes nothing and closes no session.
func (b *Owned) Kill() error { return b.node.kill() }

// Stop shuts the node down.
func (b *Owned) Stop(ctx context.Context) error {
	if err := b.node.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop Kafka: %w", err)
	}
	select {
	case <-b.node.exited:
	case <-ctx.Done():
	}
	return b.node.kill() // usually only releases the leash; kills the process if it still runs
}

// Freeze stops the node without ending it (SIGSTOP): connections stay open, and nothing answers. Thaw continues it.
func (b *Owned) Freeze() error { return b.node.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw ends a Freeze.
func (b *Owned) Thaw() error { return b.node.cmd.Process.Signal(syscall.SIGCONT) }

// Output returns the last n bytes that the node wrote.
func (b *Owned) Output(n int) string {
	text, err := os.ReadFile(filepath.Join(b.Dir, "kafka.log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-n):])
}

// Close ends the node. With keep, its folder with the data stays.
func (b *Owned) Close(keep bool) error {
	err := b.node.kill()
	if b.log != nil {
		err = errors.Join(err, b.log.Close())
	}
	if keep {
		return err
	}
	return errors.Join(err, os.RemoveAll(b.Dir))
}

// lowPorts returns addresses whose ports are below the range for outgoing connections. Another process could take a
// port of that range while the broker is down. Even a client that tries to reach the broker could: TCP allows a
// connection from a port to itself.
func lowPorts(n int) ([]string, error) {
	const low, high = 15000, 32000
	var found []string
	for range 1000 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(low+rand.IntN(high-low)))
		listener, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		defer listener.Close() //nolint:revive,gocritic // held until all are found, so that they differ
		if found = append(found, addr); len(found) == n {
			return found, nil
		}
	}
	return nil, fmt.Errorf("found %d free ports of %d between %d and %d", len(found), n, low, high)
}
