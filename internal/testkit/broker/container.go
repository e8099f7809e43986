package broker

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

const (
	defaultImage  = "apache/kafka:" + kafkaVersion
	containerPort = "9092/tcp"
)

// startContainer runs one Kafka node in a container. Without download, an image
// that the engine does not hold counts as absent.
func startContainer(ctx context.Context, download bool) (*Broker, error) {
	image := os.Getenv(EnvImage)
	if image == "" {
		image = defaultImage
	}
	host, err := engine(ctx, image, download)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	bound := startBound
	if download {
		bound = downloadBound
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	node, err := testcontainers.Run(ctx, image,
		testcontainers.WithExposedPorts(containerPort),
		publish(host, port),
		testcontainers.WithEnv(containerEnv(net.JoinHostPort(host, strconv.Itoa(port)))),
		testcontainers.WithWaitStrategy(wait.ForLog("Kafka Server started").WithStartupTimeout(startBound)),
	)
	stop := func() error { return testcontainers.TerminateContainer(node, testcontainers.StopTimeout(time.Second)) }
	if err != nil {
		_ = stop()
		return nil, fmt.Errorf("image %s: %w", image, err)
	}
	b := &Broker{Kind: Container, Addrs: []string{net.JoinHostPort(host, strconv.Itoa(port))}, Why: "a Docker engine answers, image " + image, close: stop}
	if err := b.await(ctx); err != nil {
		_ = stop()
		return nil, fmt.Errorf("image %s: %w", image, err)
	}
	return b, nil
}

// engine returns the host name on which the Docker engine publishes ports.
func engine(ctx context.Context, image string, download bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
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
			return "", fmt.Errorf("%w: the engine does not hold the image %s (%s=kafka fetches it)", errAbsent, image, EnvForce)
		}
	}
	return docker.DaemonHost(ctx)
}

// publish binds the container's port to a host port that is known beforehand,
// because the broker has to advertise it.
func publish(host string, port int) testcontainers.CustomizeRequestOption {
	bind := netip.IPv4Unspecified() // an engine elsewhere, or this program itself in a container
	if host == "localhost" || host == "127.0.0.1" {
		bind = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return testcontainers.WithHostConfigModifier(func(hc *container.HostConfig) {
		hc.PortBindings = network.PortMap{network.MustParsePort(containerPort): {{HostIP: bind, HostPort: strconv.Itoa(port)}}}
	})
}

// containerEnv is the broker's configuration as the apache/kafka image reads it.
// The broker talks to itself on a listener of its own: it sends a transaction's
// markers to its advertised address, and the one for clients does not exist
// inside the container. Without it every transaction hangs.
func containerEnv(advertised string) map[string]string {
	settings := nodeSettings("localhost:9093")
	settings["listeners"] = "PLAINTEXT://0.0.0.0:9092,CONTROLLER://localhost:9093,SELF://localhost:9094"
	settings["advertised.listeners"] = "PLAINTEXT://" + advertised + ",SELF://localhost:9094"
	settings["listener.security.protocol.map"] += ",SELF:PLAINTEXT"
	settings["inter.broker.listener.name"] = "SELF"
	env := map[string]string{}
	for key, value := range settings {
		env[envName(key)] = value
	}
	return env
}
