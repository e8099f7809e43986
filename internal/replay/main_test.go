package replay

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// together is the least number of tests that run at a time. Most tests wait for brokers, so they need few processors.
const together = 12

func TestMain(m *testing.M) {
	flag.Parse()
	if n := flag.Lookup("test.parallel"); n.Value.String() == n.DefValue && runtime.GOMAXPROCS(0) < together {
		if err := flag.Set("test.parallel", strconv.Itoa(together)); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
