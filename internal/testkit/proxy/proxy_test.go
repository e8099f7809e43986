package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/eventually"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// echo answers every byte with itself, and keeps answering after the client has
// closed its half.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			done.Go(func() {
				_, _ = io.Copy(conn, conn)
				_, _ = conn.Write([]byte("end"))
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() { _ = listener.Close(); done.Wait() })
	return listener.Addr().String()
}

func dial(t *testing.T, p *Proxy) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(testrun.Patient(10 * time.Second))); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

func listen(t *testing.T) *Proxy {
	t.Helper()
	target := echo(t)
	p, err := Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	p.Forward(target)
	return p
}

func say(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("heard %q, error %v; want %q", got, err, want)
	}
}

func TestProxy(t *testing.T) {
	t.Run("passes_bytes_both_ways_unchanged", func(t *testing.T) {
		p := listen(t)
		conn := dial(t, p)
		say(t, conn, "hello\x00\xff")
		hear(t, conn, "hello\x00\xff")
		ctx, cancel := context.WithTimeout(t.Context(), testrun.Patient(10*time.Second))
		defer cancel()
		eventually.Until(ctx, t, "14 bytes to be counted", func() (bool, string) { // after they are passed on
			n := p.Carried()
			return n == 14, fmt.Sprint(n)
		})
	})
	t.Run("cut_resets_what_is_open_and_lets_new_ones_in", func(t *testing.T) {
		p := listen(t)
		conn := dial(t, p)
		say(t, conn, "a")
		hear(t, conn, "a")
		if n := p.Cut(); n != 1 {
			t.Errorf("cut %d connections, want 1", n)
		}
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read after the cut: %v, want a reset", err)
		}
		again := dial(t, p)
		say(t, again, "b")
		hear(t, again, "b")
	})
	t.Run("half_close_towards_the_target_still_answers", func(t *testing.T) {
		p := listen(t)
		conn := dial(t, p)
		say(t, conn, "a")
		hear(t, conn, "a")
		p.HalfClose(true)
		hear(t, conn, "end")
	})
	t.Run("half_close_towards_the_client_ends_its_reading", func(t *testing.T) {
		p := listen(t)
		conn := dial(t, p)
		say(t, conn, "a")
		hear(t, conn, "a")
		p.HalfClose(false)
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("read after the half-close: %v, want an end", err)
		}
		say(t, conn, "b") // the other direction is still open
	})
	t.Run("stall_holds_everything_until_resume", func(t *testing.T) {
		p := listen(t)
		conn := dial(t, p)
		p.Stall()
		say(t, conn, "a")
		if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Fatal("something came through a stalled proxy")
		}
		if err := conn.SetReadDeadline(time.Now().Add(testrun.Patient(10 * time.Second))); err != nil {
			t.Fatal(err)
		}
		p.Resume()
		hear(t, conn, "a")
	})
	t.Run("delay_slows", func(t *testing.T) {
		p := listen(t)
		conn := dial(t, p)
		p.Delay(60 * time.Millisecond)
		began := time.Now()
		say(t, conn, "a")
		hear(t, conn, "a")
		if took := time.Since(began); took < 120*time.Millisecond {
			t.Errorf("there and back took %v, want at least twice the delay", took)
		}
	})
	t.Run("refuse_closes_new_ones", func(t *testing.T) {
		p := listen(t)
		p.Refuse(true)
		if _, err := dial(t, p).Read(make([]byte, 1)); err == nil {
			t.Error("a refused connection was served")
		}
	})
}
