package classify_test

import (
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/switchback-geo/switchback/pkg/classify"
)

func BenchmarkOf(b *testing.B) {
	c := classify.New(classify.Options{})
	for name, err := range map[string]error{
		"http": status(503), "sql": sqlError("40P01"), "coded": coded{code: classify.CodeNotJSON},
		"refused": wrapped(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Of(err)
			}
		})
	}
}
