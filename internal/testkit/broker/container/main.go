//go:build container

// Command container starts one Kafka node in a container, with testcontainers-go. The package broker runs it as a
// process, so that no test binary links the Docker client, and with the build tag container, so that `go test ./...` does not compile it.
//
// Usage: container [-download] -bound DURATION IMAGE. The first line of standard input is a JSON object with the
// environment of the container; ADVERTISED in a value stands for the address that clients use. The command prints the
// address when the node has started, and ends the container when standard input is closed.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

const kafkaPort = "9092/tcp"

// The exit codes of a failure, and of a machine that has no engine or no image.
const (
	exitFailed = 1
	exitAbsent = 3
)

// errAbsent marks an engine or an image that this machine does not have.
var errAbsent = errors.New("not here")

func main() {
	download := flag.Bool("download", false, "fetch the image if the engine does not have it")
	bound := flag.Duration("bound", time.Minute, "how long the start may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, flag.Arg(0), *download, *bound)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		if errors.Is(err, errAbsent) {
			os.Exit(exitAbsent)
		}
		os.Exit(exitFailed)
	}
}

// run starts the node, prints its address, and ends it when standard input or ctx ends.
func run(ctx context.Context, image string, download bool, bound time.Duration) error {
	input := bufio.NewReader(os.Stdin)
	line, err := input.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the environment of the container: %w", err)
	}
	env := map[string]string{}
	if err := json.Unmarshal(line, &env); err != nil {
		return fmt.Errorf("the environment of the container: %w", err)
	}
	host, err := engine(ctx, image, download)
	if err != nil {
		return err
	}
	local, err := testrun.FreeAddress()
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(local)
	if err != nil {
		return err
	}
	addr := net.JoinHostPort(host, port)
	for key, value := range env {
		env[key] = strings.ReplaceAll(value, "ADVERTISED", addr)
	}
	starting, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	node, err := testcontainers.Run(starting, image,
		testcontainers.WithExposedPorts(kafkaPort),
		publish(host, port),
		testcontainers.WithEnv(env),
		testcontainers.WithWaitStrategy(wait.ForLog("Kafka Server started").WithStartupTimeout(bound)),
	)
	if err == nil {
		_, err = fmt.Fprintln(os.Stdout, addr)
	}
	if err == nil {
		untilClosed(ctx, input)
	}
	return errors.Join(err, testcontainers.TerminateContainer(node, testcontainers.StopTimeout(time.Second)))
}

// untilClosed returns when the input or ctx ends.
func untilClosed(ctx context.Context, input io.Reader) {
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, input)
		close(closed)
	}()
	select {
	case <-closed:
	case <-ctx.Done():
	}
}

// engine returns the host name on which the Docker engine publishes ports.
func engine(ctx context.Context, image string, download bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	docker, err := testcontainers.NewDockerProvider()
	if err != nil {
		return "", fmt.Errorf("%w: no Docker engine answers", errAbsent)
	}
	defer docker.Close()
	if err := docker.Health(ctx); err != nil {
		return "", fmt.Errorf("%w: no Docker engine answers", errAbsent)
	}
	if !download {
		if _, err := docker.Client().ImageInspect(ctx, image); err != nil {
			return "", fmt.Errorf("%w: the engine does not have the image %s", errAbsent, image)
		}
	}
	return docker.DaemonHost(ctx)
}

// publish binds the container's port to a known host port, because the broker must advertise it.
func publish(host, port string) testcontainers.CustomizeRequestOption {
	bind := netip.IPv4Unspecified() // for a remote engine, or if this program runs in a container
	if host == "localhost" || host == "127.0.0.1" {
		bind = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return testcontainers.WithHostConfigModifier(func(hc *container.HostConfig) {
		hc.PortBindings = network.PortMap{network.MustParsePort(kafkaPort): {{HostIP: bind, HostPort: port}}}
	})
}
