package engine_test

import (
	"os"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// together is the minimum number of parallel tests. Most tests wait for retry delays, so they need few processors.
const together = 24

func TestMain(m *testing.M) {
	testrun.Together(together)
	os.Exit(m.Run())
}
