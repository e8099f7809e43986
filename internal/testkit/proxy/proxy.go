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

// Proxy listens on an address of its own and forwards to a target. Its methods
// are safe for concurrent use.
type Proxy struct {
	listener net.Listener
	done     sync.WaitGroup

	mu      sync.Mutex
	target  string
	refuse  bool
	stall   chan struct{} // while open, bytes are read and not passed on
	delay   time.Duration
	links   map[*link]bool
	carried int64
	closed  bool
}

// link is one forwarded connection: what the client sees, and what the target
// sees.
type link struct{ client, target *net.TCPConn }

// Listen opens a proxy on a free port of this machine. It refuses connections
// until Forward names a target.
func Listen() (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{listener: listener, links: map[*link]bool{}}
	p.done.Go(p.accept)
	return p, nil
}

// Addr is where clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Forward sets where new connections go.
func (p *Proxy) Forward(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Refuse says whether new connections are closed at once.
func (p *Proxy) Refuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
}

// Delay makes every piece that is passed on, either way, wait so long; 0 for none.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Stall stops passing anything on, without closing anything, until Resume. What
// arrives meanwhile is passed on then: a network that has hung, not one that loses.
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

// Cut resets every connection, in the middle of whatever it carries, and says how
// many there were.
func (p *Proxy) Cut() int {
	links := p.open()
	for _, l := range links {
		l.reset()
	}
	return len(links)
}

// HalfClose closes one direction of every connection: towards the target (it
// reads an end, and may still answer) or towards the client. It says how many
// there were.
func (p *Proxy) HalfClose(towardsTarget bool) int {
	links := p.open()
	for _, l := range links {
		if towardsTarget {
			_ = l.target.CloseWrite() // gone already: the same to the test
		} else {
			_ = l.client.CloseWrite()
		}
	}
	return len(links)
}

// Carried is how many bytes have been passed on so far, both ways.
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

// pass forwards one direction until its end, and passes the end on.
func (p *Proxy) pass(to, from *net.TCPConn) {
	defer func() { _ = to.CloseWrite() }() // the other side may have gone already
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.hold()
			if _, failed := to.Write(buf[:n]); failed != nil {
				// The other side is told: TCP would reset a connection whose peer is gone.
				_ = from.CloseRead()
				return
			}
			p.mu.Lock()
			p.carried += int64(n)
			p.mu.Unlock()
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				_ = to.SetLinger(0) // a reset is passed on as a reset
				_ = to.Close()
			}
			return
		}
	}
}

// hold waits as long as the proxy stalls, and for its delay.
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
		_ = conn.SetLinger(0) // a reset, not an orderly end
		_ = conn.Close()
	}
}
