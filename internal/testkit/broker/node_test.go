package broker

import (
	"context"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

func start(t *testing.T) *Broker {
	t.Helper()
	b, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

func short(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	t.Cleanup(cancel)
	return ctx
}

// The broker from the jars is the one that outlives a test if nobody is careful:
// it has to be gone, with its folder, once it is closed.
func TestJarsLeaveNothingBehind(t *testing.T) {
	testrun.Nightly(t)
	if _, err := exec.LookPath("java"); err != nil {
		t.Skip("java is not installed: Kafka cannot be started from its jars")
	}
	libs, err := kafkaJars(t.Context(), false)
	if err != nil {
		t.Skipf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(startBound))
	defer cancel()
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	b, err := startNode(ctx, "java", libs)
	if err != nil {
		t.Fatal(err)
	}
	if !b.Real() {
		t.Errorf("cluster id %q counts as not real", b.clusterID)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", b.Addrs[0]); err == nil {
		_ = conn.Close()
		t.Errorf("something still listens on %s", b.Addrs[0])
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
