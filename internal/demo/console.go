package demo

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/switchback-geo/switchback/internal/access"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/console"
	"github.com/switchback-geo/switchback/internal/devbroker"
	"github.com/switchback-geo/switchback/internal/dlq"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/replay"
)

const (
	// UsualConsole is where the web console listens unless another program does.
	UsualConsole = "127.0.0.1:8480"
	// ConsoleFlag is the flag that sets Options.ConsoleListen, as messages name it.
	ConsoleFlag = "--console"
)

// startConsole serves the pages of `replayer serve` over the demo's topics at an address; "" is the usual one, or a
// free port. Today's transform is that of cfg. If the port is in use, the error is a *devbroker.PortError. It returns
// the console's address; end completes the requests in progress and stops it.
func startConsole(ctx context.Context, cfg *config.Config, address string) (at string, end func() error, err error) {
	usual := address == ""
	if usual {
		address = UsualConsole
	}
	gate := access.Loopback("")
	listener, err := console.Listen(ctx, address, gate)
	if usual && errors.Is(err, syscall.EADDRINUSE) {
		listener, err = console.Listen(ctx, "127.0.0.1:0", gate)
	}
	if err != nil {
		if _, is := errors.AsType[*net.OpError](err); is {
			port, _ := strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:]) // 0 for a name
			err = &devbroker.PortError{Service: "web console", Port: port, Flag: ConsoleFlag, Err: err}
		}
		return "", nil, err
	}
	letters, err := dlq.Open(ctx, cfg, dlq.Options{Background: true, Options: replay.Options{Index: dlqindex.Options{Place: dlqindex.InMemory}}})
	if err != nil {
		return "", nil, errors.Join(err, listener.Close())
	}
	pages, err := console.New(ctx, console.Options{DeadLetters: letters, Replays: letters.Replays(), Access: gate, Explain: console.Explain, Now: time.Now})
	if err != nil {
		letters.Close()
		return "", nil, errors.Join(err, listener.Close())
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		err := pages.Serve(ctx, listener)
		pages.Close()
		letters.Close()
		done <- err
	}()
	return listener.Addr().String(), func() error { stop(); return <-done }, nil
}
