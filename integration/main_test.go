package integration

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/broker"
	"github.com/switchback-geo/switchback/internal/testkit/proc"
)

// The suite shares one broker and one build of the commands.
var (
	kafka    *broker.Broker
	commands proc.Binaries
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // a first run may fetch Kafka
	defer cancel()
	dir, err := os.MkdirTemp("", "switchback-commands-")
	if err != nil {
		return failed("make a folder for the commands", err)
	}
	defer os.RemoveAll(dir)
	if commands, err = proc.Build(ctx, dir, "consumer", "replayer"); err != nil {
		return failed("build the commands", err)
	}
	if kafka, err = broker.Start(ctx); err != nil {
		return failed("get a broker", err)
	}
	fmt.Println(kafka)
	defer func() {
		if err := kafka.Close(); err != nil {
			code = failed("end the broker", err)
		}
	}()
	return m.Run()
}

func failed(what string, err error) int {
	fmt.Fprintf(os.Stderr, "integration: %s: %v\n", what, err)
	return 1
}
