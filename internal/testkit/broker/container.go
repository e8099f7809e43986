package broker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

const (
	defaultImage     = "apache/kafka:" + kafkaVersion
	containerProgram = "github.com/switchback-geo/switchback/internal/testkit/broker/container"
	exitAbsent       = 3 // exit code of the program if there is no engine or no image
)

// startContainer runs one Kafka node in a container, with the command in the folder container. Without download, a
// missing image counts as absent.
func startContainer(ctx context.Context, download bool) (*Broker, error) {
	if !engineLikely() {
		return nil, fmt.Errorf("%w: no Docker engine answers", errAbsent)
	}
	image := os.Getenv(EnvImage)
	if image == "" {
		image = defaultImage
	}
	bound, args := testrun.Patient(startBound), []string{"run", "-tags", "container", containerProgram}
	if download {
		bound, args = testrun.Patient(downloadBound), append(args, "-download")
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	addr, stop, err := runContainer(ctx, append(args, "-bound", bound.String(), image))
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", image, err)
	}
	b := &Broker{Kind: Container, Addrs: []string{addr}, Why: "a Docker engine answers, image " + image, close: stop}
	if err := b.await(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("image %s: %w", image, err), stop())
	}
	return b, nil
}

// engineLikely reports whether this machine has traces of a Docker engine, so that building the command is worthwhile.
func engineLikely() bool {
	if os.Getenv("DOCKER_HOST") != "" {
		return true
	}
	home, _ := os.UserHomeDir() // without a home, those paths do not exist
	for _, path := range []string{
		"/var/run/docker.sock", filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "docker.sock"),
		filepath.Join(home, ".docker"), filepath.Join(home, ".testcontainers.properties"),
	} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

// runContainer starts the program with these arguments of the go command, and returns the address that it prints.
func runContainer(ctx context.Context, args []string) (addr string, stop func() error, err error) {
	env, err := json.Marshal(containerEnv("ADVERTISED"))
	if err != nil {
		return "", nil, err
	}
	program := exec.Command("go", args...)
	var says bytes.Buffer
	program.Stderr = &says
	input, err := program.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	output, err := program.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := program.Start(); err != nil {
		return "", nil, err
	}
	stop = func() error {
		_ = input.Close()
		late := time.AfterFunc(testrun.Patient(time.Minute), func() { _ = program.Process.Kill() })
		defer late.Stop()
		return program.Wait()
	}
	giveUp := context.AfterFunc(ctx, func() { _ = input.Close() })
	defer giveUp()
	_, _ = io.WriteString(input, string(env)+"\n") // an exit of the program is reported below
	line, err := bufio.NewReader(output).ReadString('\n')
	if err == nil {
		return strings.TrimSpace(line), stop, nil
	}
	ended := stop()
	// `go run` itself exits with 1; it prints the exit code of the program.
	if strings.Contains(says.String(), fmt.Sprintf("exit status %d", exitAbsent)) {
		return "", nil, fmt.Errorf("%w: %s", errAbsent, strings.TrimSpace(says.String()))
	}
	return "", nil, fmt.Errorf("%w: %s", errors.Join(ended, ctx.Err()), strings.TrimSpace(says.String()))
}

// containerEnv returns the broker's configuration as variables of the apache/kafka image. The broker sends transaction
// markers to its own advertised address. The address for clients does not exist inside the container, so the broker has
// a separate listener. Without it, every transaction hangs.
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
