package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"syscall"
	"time"
)

// specVariable tells a process of this binary to be a contender.
const specVariable = "SWITCHBACK_BENCH_CONTENDER"

// kind says what a contender is.
type kind string

const (
	engine  kind = "engine"
	bare    kind = "bare loop"
	dressed kind = "dressed loop" // the bare loop, writing what the engine writes
)

// spec is what one contender does in one run.
type spec struct {
	Kind      kind
	Brokers   []string
	Source    string
	Run       string // names what belongs to this run alone: group, outputs, tiers
	Events    int    // it ends when so many are finished
	FailEvery int
	FailTimes int    // attempts of each failing event that fail; 0 is 1
	Paced     bool   // the events come at a rate
	Burst     int    // they come so many at a time, every half second, instead
	Batch     int    // records that a loop takes into one transaction, at most
	Profile   string // file for a CPU profile
}

func (s *spec) output() string { return s.Run + ".out" }
func (s *spec) ledger() string { return s.Run + ".ledger" }

// report is what a contender measured in itself.
type report struct {
	Transactions int
	Aborted      int
	Events       int     // finished, in committed transactions
	FirstEvents  int     // of them in the first transaction
	Seconds      float64 // from the first commit to the last
	CPU          float64 // seconds, user and system, of the whole process up to the last commit
	RSS          float64 // MiB, highest
	Healthy      pace    // events that never failed
	Took         summary // of committed transactions, ms
	Delay        summary // of healthy events: from their timestamp to their commit, ms
	Retries      lateness
}

// rate is events per second from the first commit to the last: what the first one carried was done before.
func (r *report) rate() float64 { return float64(r.Events-r.FirstEvents) / r.Seconds }

// cpu is microseconds of processor time per event.
func (r *report) cpu() float64 { return r.CPU / float64(r.Events) * 1e6 }

// batch is events per transaction.
func (r *report) batch() float64 { return float64(r.Events) / float64(max(r.Transactions, 1)) }

// contend runs a contender and writes its report.
func contend(ctx context.Context, text string, out io.Writer) error {
	var s spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return fmt.Errorf("read %s: %w", specVariable, err)
	}
	if s.Profile != "" {
		f, err := os.Create(s.Profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	do := runLoop
	if s.Kind == engine {
		do = runEngine
	}
	r, err := do(ctx, &s)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

// start runs a contender in a process of its own and gives its report.
func (b *bench) start(ctx context.Context, s *spec) (*report, error) {
	s.Brokers = b.brokers
	if b.profile != "" {
		s.Profile = filepath.Join(b.profile, s.Run+".pprof")
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), specVariable+"="+string(text))
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("contender %s: %w", s.Run, err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return nil, fmt.Errorf("report of %s: %w", s.Run, err)
	}
	return &r, nil
}

// usage gives the process's processor time in seconds and its highest resident memory in MiB.
func usage() (cpu, rss float64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds(), float64(u.Maxrss) / 1024
}
