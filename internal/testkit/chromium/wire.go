package chromium

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// errEnded is the error of calls to a browser that has exited.
var errEnded = errors.New("the browser has ended")

// wire carries messages of the DevTools protocol, each a JSON text that ends with a zero byte.
type wire struct {
	program *exec.Cmd
	stderr  bytes.Buffer
	out     io.WriteCloser
	in      io.ReadCloser
	ended   chan struct{} // closed when no more messages arrive

	mu      sync.Mutex
	last    int
	waiting map[int]chan message
	hear    map[string]func(message) // handlers of events, by session
}

// message is a call, its answer or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// dial starts the browser. The browser reads file 3 and writes file 4.
func dial(program, profile string) (*wire, error) {
	theirs, out, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the browser: %w", err)
	}
	in, answers, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the browser: %w", err)
	}
	w := &wire{program: exec.Command(program, arguments(profile)...), out: out, in: in, ended: make(chan struct{}), waiting: map[int]chan message{}, hear: map[string]func(message){}}
	w.program.ExtraFiles = []*os.File{theirs, answers}
	w.program.Stderr = &w.stderr
	if err := w.program.Start(); err != nil {
		return nil, fmt.Errorf("start the browser: %w", err)
	}
	_, _ = theirs.Close(), answers.Close()
	go w.read()
	return w, nil
}

// read dispatches answers and events until the browser ends.
func (w *wire) read() {
	defer close(w.ended)
	for r := bufio.NewReaderSize(w.in, 1<<20); ; {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		w.mu.Lock()
		answer, hear := w.waiting[m.ID], w.hear[m.Session]
		delete(w.waiting, m.ID)
		w.mu.Unlock()
		switch {
		case answer != nil:
			answer <- m
		case m.ID == 0 && hear != nil:
			hear(m)
		}
	}
}

// call sends one command to a session and decodes its result. The session "" is the browser itself.
func (w *wire) call(ctx context.Context, session, method string, params, result any) error {
	encoded, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	answer := make(chan message, 1)
	w.mu.Lock()
	w.last++
	m := message{ID: w.last, Session: session, Method: method, Params: encoded}
	w.waiting[m.ID] = answer
	text, err := json.Marshal(m)
	if err == nil {
		_, err = w.out.Write(append(text, 0))
	}
	w.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m = <-answer:
	case <-w.ended:
		return fmt.Errorf("%s: %w", method, errEnded)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
	if m.Error != nil {
		return fmt.Errorf("%s: %s", method, m.Error.Message)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// close ends the browser, so that its profile can be removed.
func (w *wire) close() {
	_ = w.call(context.Background(), "", "Browser.close", struct{}{}, nil) // it may have exited
	_ = w.out.Close()
	<-w.ended
	_ = w.program.Wait()
	_ = w.in.Close()
}
