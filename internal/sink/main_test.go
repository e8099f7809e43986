package sink

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets more tests run at a time than there are processors: they wait for the database.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
