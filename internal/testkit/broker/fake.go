package broker

import (
	"context"
	"fmt"
	"os"

	"github.com/switchback-geo/switchback/internal/devbroker"
)

// fakeClusterID is kfake's cluster ID.
const fakeClusterID = "kfake"

// startFake runs the embedded broker in this process. Its data is in a folder, because kfake never frees data in memory.
func startFake(ctx context.Context, why string) (*Broker, error) {
	dir, err := os.MkdirTemp("", "switchback-kfake-")
	if err != nil {
		return nil, fmt.Errorf("kfake: %w", err)
	}
	fake, err := devbroker.Start(devbroker.Options{DataDir: dir})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("kfake: %w", err)
	}
	b := &Broker{Kind: Kfake, Addrs: []string{fake.Addr()}, Why: why}
	b.close = func() error {
		fake.Close()
		return os.RemoveAll(dir)
	}
	return b, b.await(ctx)
}
