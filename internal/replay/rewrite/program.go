package rewrite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Limits of a program, besides its time.
const (
	maxProgram = 64 << 10 // bytes of its text
	maxPrinted = 16 << 20 // bytes of a value that it prints
	maxStderr  = 300      // bytes of its standard error in a message
	longest    = 3600     // seconds
)

// program is a shell command of the operator that runs once for each value. It reads one value and prints one.
type program struct {
	text    string
	limit   time.Duration
	network bool

	probe func() bool // reports whether the network can be taken away; it finds out once
}

func newProgram(s Spec) (*program, error) {
	if len(s.Program) > maxProgram || strings.ContainsRune(s.Program, 0) {
		return nil, fmt.Errorf("%w: the program is longer than %d bytes, or contains a NUL character", ErrRewrite, maxProgram)
	}
	if math.IsNaN(s.Seconds) || s.Seconds < 0 || s.Seconds > longest {
		return nil, fmt.Errorf("%w: the time limit of a program is from 0 to %d seconds for each value", ErrRewrite, longest)
	}
	p := &program{text: s.Program, limit: UsualTime, network: s.Network}
	if s.Seconds > 0 {
		p.limit = time.Duration(s.Seconds * float64(time.Second))
	}
	p.probe = sync.OnceValue(func() bool {
		cmd := command(context.Background(), "true")
		return withoutNetwork(cmd) && cmd.Run() == nil
	})
	return p, nil
}

// isolated reports whether the program runs without network.
func (p *program) isolated() bool { return !p.network && p.probe() }

// command prepares a shell that is killed with all its children when the context ends.
func command(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", text) // #nosec G204 -- the operator's own program
	ownGroup(cmd)
	cmd.WaitDelay = time.Second // for its children to close the pipes
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ"} {
		if value, has := os.LookupEnv(name); has {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd
}

// run returns the output of the program for a value.
func (p *program) run(ctx context.Context, value []byte) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	cmd := command(limited, p.text)
	if p.isolated() {
		withoutNetwork(cmd)
	}
	printed, stderr := &bounded{limit: maxPrinted}, &bounded{limit: maxStderr, cut: true}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(bytes.Clone(oneLine(value)), '\n')), printed, stderr
	err := cmd.Run()
	if cmd.Process != nil {
		_ = endGroup(cmd) // usually no process remains
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case printed.over:
		return nil, fmt.Errorf("%w: the program prints more than %d bytes", ErrRewrite, maxPrinted)
	case limited.Err() != nil:
		return nil, fmt.Errorf("%w: the program takes longer than %s", ErrRewrite, p.limit)
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil, fmt.Errorf("%w: the program ended, but a process that it started is still running", ErrRewrite)
	}
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return nil, fmt.Errorf("run the program: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the program ended with %w%s", ErrRewrite, err, stderr.line())
	}
	return result(value, bytes.TrimRight(printed.text.Bytes(), "\r\n"))
}

// result checks the output: one value, which must be JSON if the input was.
func result(before, after []byte) ([]byte, error) {
	switch {
	case len(bytes.TrimSpace(after)) == 0:
		return nil, fmt.Errorf("%w: the program prints nothing", ErrRewrite)
	case json.Valid(before) && !json.Valid(after):
		return nil, fmt.Errorf("%w: the program prints something other than one JSON value", ErrRewrite)
	case !json.Valid(before) && bytes.ContainsRune(after, '\n'):
		return nil, fmt.Errorf("%w: the program prints more than one line", ErrRewrite)
	}
	return after, nil
}

// bounded is a buffer with a limit. Beyond the limit it drops the text or returns an error.
type bounded struct {
	text  bytes.Buffer
	limit int
	cut   bool
	over  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.limit-b.text.Len())
	b.text.Write(p[:n])
	if n < len(p) && !b.cut {
		b.over = true
		return n, errors.New("too much is printed")
	}
	return len(p), nil
}

// line returns the standard error of a program on one line.
func (b *bounded) line() string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(b.text.String(), string(utf8.RuneError))), " ")
	if text == "" {
		return ""
	}
	return ": " + text
}
