package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// Environment variables that choose the broker.
const (
	EnvBrokers = "KAFKA_BROKERS"          // host:port, comma-separated
	EnvForce   = "SWITCHBACK_TEST_BROKER" // kafka, kfake, or empty
	EnvImage   = "SWITCHBACK_KAFKA_IMAGE" // the container's image
)

// errAbsent marks a kind of broker that is not available on this machine. Any other error means that it is available and
// does not work.
var errAbsent = errors.New("not here")

// Time limits for the start of each kind on an idle machine. A forced start may download first.
const (
	externalBound = 15 * time.Second
	startBound    = 60 * time.Second
	downloadBound = 5 * time.Minute
)

// Forced reports whether the environment demands a real broker.
func Forced() bool { return os.Getenv(EnvForce) == "kafka" }

// Start chooses a broker by the rules in the package's documentation, starts it if necessary, and returns when it
// answers.
func Start(ctx context.Context) (*Broker, error) {
	switch force := os.Getenv(EnvForce); force {
	case "":
		return best(ctx)
	case "kfake":
		return startFake(ctx, EnvForce+"=kfake")
	case "kafka":
		return firstReal(ctx, true)
	default:
		return nil, fmt.Errorf("%s=%q: use kafka, kfake or nothing", EnvForce, force)
	}
}

func best(ctx context.Context) (*Broker, error) {
	b, err := firstReal(ctx, false)
	if err == nil {
		return b, nil
	}
	if os.Getenv(EnvBrokers) != "" { // if the addresses are set, nothing else is used
		return nil, err
	}
	return startFake(ctx, "no real broker: "+oneLine(err))
}

// firstReal starts the first available real broker. Its error lists what was tried and why each kind was unavailable.
func firstReal(ctx context.Context, download bool) (*Broker, error) {
	if addrs := os.Getenv(EnvBrokers); addrs != "" {
		return external(ctx, addrs)
	}
	var tried []error
	for _, kind := range []struct {
		name  Kind
		start func(context.Context, bool) (*Broker, error)
	}{{Container, startContainer}, {Jars, startJars}} {
		b, err := kind.start(ctx, download)
		if err == nil {
			if len(tried) > 0 {
				b.Why += "; " + oneLine(errors.Join(tried...))
			}
			return b, nil
		}
		tried = append(tried, fmt.Errorf("%s: %w", kind.name, err))
	}
	return nil, errors.Join(tried...)
}

func external(ctx context.Context, addrs string) (*Broker, error) {
	b := &Broker{Kind: External, Addrs: strings.Split(addrs, ","), Why: EnvBrokers + " is set"}
	ctx, cancel := context.WithTimeout(ctx, testrun.Patient(externalBound))
	defer cancel()
	if err := b.await(ctx); err != nil {
		return nil, fmt.Errorf("%s=%s: %w", EnvBrokers, addrs, err)
	}
	if Forced() && !b.Real() {
		return nil, fmt.Errorf("%s=%s: that is kfake, and %s=kafka demands a real broker", EnvBrokers, addrs, EnvForce)
	}
	return b, nil
}

// oneLine formats a joined error on one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
