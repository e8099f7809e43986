package testrun

import (
	"flag"
	"runtime"
	"strconv"
)

// Together lets at least n parallel tests run at a time, for packages whose tests spend most of their time waiting and
// need few processors. A number on the command line takes precedence. Call it in TestMain, before Run.
func Together(n int) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue && runtime.GOMAXPROCS(0) < n {
		if err := flag.Set(f.Name, strconv.Itoa(n)); err != nil {
			panic(err)
		}
	}
}
