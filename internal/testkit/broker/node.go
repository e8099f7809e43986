package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// jvmFlags make the broker small and quick to start, because it only carries test loads.
var jvmFlags = []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m"}

const log4j = `status=error
appender.c.type=Console
appender.c.name=c
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=%d %p %c{1} %m%n
rootLogger.level=warn
rootLogger.appenderRef.c.ref=c
`

// startJars runs Apache Kafka from its jars as a process.
func startJars(ctx context.Context, download bool) (*Broker, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("%w: java is not installed", errAbsent)
	}
	libs, err := kafkaJars(ctx, download)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, testrun.Patient(startBound))
	defer cancel()
	var last error
	for range 3 { // another process may use a free port before the broker listens
		b, err := startNode(ctx, java, libs)
		if err == nil {
			return b, nil
		}
		last = err
	}
	return nil, last
}

// node is one Kafka process and its folder.
type node struct {
	dir, java, libs string
	cmd             *exec.Cmd
	leash           *proc.Leash
	out             bytes.Buffer // read only after exited is closed
	exited          chan struct{}
}

func startNode(ctx context.Context, java, libs string) (_ *Broker, err error) {
	dir, err := os.MkdirTemp("", "switchback-kafka-")
	if err != nil {
		return nil, err
	}
	n := &node{dir: dir, java: java, libs: libs, exited: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
		}
	}()
	addr, err := n.configure()
	if err != nil {
		return nil, err
	}
	if err := n.format(ctx); err != nil {
		return nil, err
	}
	if err := n.start(); err != nil {
		return nil, err
	}
	b := &Broker{Kind: Jars, Addrs: []string{addr}, Why: "Apache Kafka " + kafkaVersion + " from its jars", close: n.close}
	ready, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // a process that has exited never answers
		select {
		case <-n.exited:
			cancel()
		case <-ready.Done():
		}
	}()
	if err := b.await(ready); err != nil {
		_ = n.kill()
		return nil, fmt.Errorf("%w\n%s", err, n.out.Bytes())
	}
	return b, nil
}

// configure writes the node's files and returns the broker's address.
func (n *node) configure() (string, error) {
	addr, err := testrun.FreeAddress()
	if err != nil {
		return "", err
	}
	controller, err := testrun.FreeAddress()
	if err != nil {
		return "", err
	}
	settings := nodeSettings(controller)
	settings["listeners"] = "PLAINTEXT://" + addr + ",CONTROLLER://" + controller
	settings["advertised.listeners"] = "PLAINTEXT://" + addr
	settings["log.dirs"] = filepath.ToSlash(filepath.Join(n.dir, "data"))
	if err := os.WriteFile(n.file("server.properties"), properties(settings), 0o644); err != nil {
		return "", err
	}
	return addr, os.WriteFile(n.file("log4j2.properties"), []byte(log4j), 0o644)
}

func (n *node) file(name string) string { return filepath.Join(n.dir, name) }

func (n *node) command(ctx context.Context, args ...string) *exec.Cmd {
	flags := append([]string{"-Dlog4j2.configurationFile=" + n.file("log4j2.properties"), "-cp", filepath.Join(n.libs, "*")}, jvmFlags...)
	return exec.CommandContext(ctx, n.java, append(flags, args...)...)
}

// clusterID is the ID of every node started here: 16 bytes in base64. A random one could begin with a dash and look like
// a flag.
const clusterID = "c3dpdGNoYmFjay10ZXN0cw"

func (n *node) format(ctx context.Context) error {
	cmd := n.command(ctx, "kafka.tools.StorageTool", "format", "--cluster-id="+clusterID, "-c", n.file("server.properties"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("format Kafka's storage: %w\n%s", err, out)
	}
	return nil
}

func (n *node) start() error {
	n.cmd = n.command(context.Background(), "kafka.Kafka", n.file("server.properties"))
	n.cmd.Stdout, n.cmd.Stderr = &n.out, &n.out
	if err := n.cmd.Start(); err != nil {
		n.cmd = nil
		return fmt.Errorf("start Kafka: %w", err)
	}
	leash, err := proc.NewLeash(n.cmd.Process.Pid)
	go func() {
		_ = n.cmd.Wait()
		close(n.exited)
	}()
	n.leash = leash
	return err
}

// kill ends the process by its ID and waits for its exit.
func (n *node) kill() error {
	if n.cmd == nil {
		return nil
	}
	_ = n.cmd.Process.Kill() // an already exited process is fine
	select {
	case <-n.exited:
	case <-time.After(testrun.Patient(10 * time.Second)):
		return fmt.Errorf("Kafka, process %d, does not end", n.cmd.Process.Pid)
	}
	if n.leash != nil {
		n.leash.Release()
		n.leash = nil
	}
	return nil
}

func (n *node) close() error { return errors.Join(n.kill(), os.RemoveAll(n.dir)) }
