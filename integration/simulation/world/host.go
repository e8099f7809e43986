package world

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Host is the connection of one process to the network. Its methods are safe for concurrent use.
type Host struct {
	dial dialFunc

	mu      sync.Mutex
	conns   map[*conn]struct{}
	down    bool          // dials are refused
	frozen  chan struct{} // nil unless the process is frozen; closed when it continues
	loseIn  int           // answers until one is lost; 0 for none
	latency time.Duration // of all data that is read
	sent    requests      // since the last call of asks
}

func newHost(dial dialFunc) *Host {
	return &Host{dial: dial, conns: map[*conn]struct{}{}, sent: requests{}}
}

// Dial is for kgo.Dialer.
func (h *Host) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if !wait(ctx, travel) {
		return nil, ctx.Err()
	}
	h.awake()
	if h.isDown() {
		return nil, errors.New("connection refused")
	}
	raw, err := h.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, host: h}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down { // changed since the last call
		_ = raw.Close()
		return nil, errors.New("connection refused")
	}
	h.conns[c] = struct{}{}
	return c, nil
}

func (h *Host) isDown() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.down
}

// Cut closes every connection and refuses new ones until Heal.
func (h *Host) Cut() {
	h.mu.Lock()
	h.down = true
	all := make([]*conn, 0, len(h.conns))
	for c := range h.conns {
		all = append(all, c)
	}
	h.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
	}
}

// Heal ends Cut, Lose and Delay.
func (h *Host) Heal() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down, h.loseIn, h.latency = false, 0, 0
}

// Lose loses one answer: the broker has carried out the request, and the process gets a broken connection.
func (h *Host) Lose(in int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loseIn = in
}

// Delay delays all data that is read from now on.
func (h *Host) Delay(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.latency = d
}

// Freeze freezes the process: nothing is read or written until Thaw. Requests under way continue then as if no time had
// passed.
func (h *Host) Freeze() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.frozen == nil {
		h.frozen = make(chan struct{})
	}
}

// Thaw ends Freeze.
func (h *Host) Thaw() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.frozen != nil {
		close(h.frozen)
		h.frozen = nil
	}
}

// awake returns once the process is not frozen.
func (h *Host) awake() {
	for {
		h.mu.Lock()
		frozen := h.frozen
		h.mu.Unlock()
		if frozen == nil {
			return
		}
		<-frozen
	}
}

// asks returns the requests that were sent since the last call.
func (h *Host) asks() requests {
	h.mu.Lock()
	defer h.mu.Unlock()
	sent := h.sent
	h.sent = requests{}
	return sent
}

// read returns whether an answer is lost, and how late it arrives.
func (h *Host) read() (lost bool, latency time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loseIn > 0 {
		h.loseIn--
		lost = h.loseIn == 0
	}
	return lost, h.latency
}

// conn is one connection of a host.
type conn struct {
	net.Conn
	host *Host
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.host.awake()
	if n == 0 {
		return n, err
	}
	lost, latency := c.host.read()
	if lost {
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	if latency > 0 {
		<-time.After(latency)
	}
	return n, err
}

// travel is the time that a message takes to arrive. Without it, a client that repeats a request at once would stop
// the virtual clock.
const travel = 500 * time.Microsecond

func (c *conn) Write(b []byte) (int, error) {
	<-time.After(travel)
	c.host.awake()
	c.host.mu.Lock()
	c.host.sent.add(b)
	c.host.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *conn) Close() error {
	c.host.mu.Lock()
	delete(c.host.conns, c)
	c.host.mu.Unlock()
	return c.Conn.Close()
}
