package proxy

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// Proxy listens on its own address and forwards to a target. Its methods are safe for concurrent use.
type Proxy struct {
	listener net.Listener
	done     sync.WaitGroup

	mu      sync.Mutex
	target  string
	refuse  bool
	stall   chan struct{} // while open, bytes are read and not forwarded
	delay   time.Duration
	links   map[*link]bool
	carried int64
	closed  bool
}

// link is one forwarded connection: the client's side and the target's side.
type link struct{ client, target *net.TCPConn }

// Listen opens a proxy on a free port of this machine. It refuses connections until Forward sets a target.
func Listen() (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{listener: listener, links: map[*link]bool{}}
	p.done.Go(p.accept)
	return p, nil
}

// Addr returns the address for clients.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Forward sets the target of new connections.
func (p *Proxy) Forward(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Refuse sets whether new connections are closed at once.
func (p *Proxy) Refuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
}

// Delay delays everything that is forwarded in both directions; 0 for no delay.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Stall stops forwarding without closing anything, until Resume forwards what arrived meanwhile. It is a network that
// hangs, not one that loses packets.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stall == nil {
		p.stall = make(chan struct{})
	}
}

// Resume ends Stall, Delay and Refuse.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stall != nil {
		close(p.stall)
		p.stall = nil
	}
	p.delay, p.refuse = 0, false
}

// Cut resets every connection and returns their number.
func (p *Proxy) Cut() int {
	links := p.open()
	for _, l := range links {
		l.reset()
	}
	return len(links)
}

// HalfClose closes one direction of every connection: towards the target, which reads an end and may still answer, or
// towards the client. It returns their number.
func (p *Proxy) HalfClose(towardsTarget bool) int {
	links := p.open()
	for _, l := range links {
		if towardsTarget {
			_ = l.target.CloseWrite() // an already closed connection is fine
		} else {
			_ = l.client.CloseWrite()
		}
	}
	return len(links)
}

// Carried returns how many bytes have been forwarded so far, in both directions.
func (p *Proxy) Carried() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.carried
}

// Close ends the proxy and every connection.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.listener.Close()
	p.Resume()
	p.Cut()
	p.done.Wait()
	return err
}

func (p *Proxy) open() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.links))
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		p.done.Go(func() { p.serve(conn.(*net.TCPConn)) })
	}
}

func (p *Proxy) serve(client *net.TCPConn) {
	p.mu.Lock()
	target, refuse := p.target, p.refuse || p.closed || p.target == ""
	p.mu.Unlock()
	if refuse {
		_ = client.Close()
		return
	}
	conn, err := net.DialTimeout("tcp", target, 5*time.Second)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{client, conn.(*net.TCPConn)}
	p.mu.Lock()
	p.links[l] = true
	late := p.closed
	p.mu.Unlock()
	if late {
		l.reset()
	}
	var both sync.WaitGroup
	both.Go(func() { p.pass(l.target, l.client) })
	both.Go(func() { p.pass(l.client, l.target) })
	both.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
	_ = client.Close()
	_ = conn.Close()
}

// pass forwards one direction until its end, and forwards the end.
func (p *Proxy) pass(to, from *net.TCPConn) {
	defer func() { _ = to.CloseWrite() }() // the other side may have closed already
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.hold()
			if _, failed := to.Write(buf[:n]); failed != nil {
				// Close the reading side too: TCP then resets a connection whose peer is gone.
				_ = from.CloseRead()
				return
			}
			p.mu.Lock()
			p.carried += int64(n)
			p.mu.Unlock()
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				_ = to.SetLinger(0) // a reset is forwarded as a reset
				_ = to.Close()
			}
			return
		}
	}
}

// hold waits while the proxy stalls, and for its delay.
func (p *Proxy) hold() {
	p.mu.Lock()
	stall, delay := p.stall, p.delay
	p.mu.Unlock()
	if stall != nil {
		<-stall
	}
	if delay > 0 {
		<-time.After(delay)
	}
}

func (l *link) reset() {
	for _, conn := range []*net.TCPConn{l.client, l.target} {
		_ = conn.SetLinger(0) // a reset, not a regular close
		_ = conn.Close()
	}
}
