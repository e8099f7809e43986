package testrun

import (
	"flag"
	"runtime"
	"strconv"
)

// Together lets at least n parallel tests run at a time, for packages whose tests wait for most of their time and need few
// processors. A number that the command line gives stays. Call it in TestMain, before Run.
func Together(n int) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue && runtime.GOMAXPROCS(0) < n {
		if err := flag.Set(f.Name, strconv.Itoa(n)); err != nil {
			panic(err)
		}
	}
}
