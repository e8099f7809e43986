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

// specVariable makes a process of this binary a contender.
const specVariable = "SWITCHBACK_BENCH_CONTENDER"

// kind is the kind of a contender.
type kind string

const (
	library kind = "engine"
	bare    kind = "bare loop"
	dressed kind = "dressed loop" // the bare loop, which also writes the engine's records
)

// spec describes the work of one contender in one run.
type spec struct {
	Kind      kind
	Brokers   []string
	Source    string
	Run       string // prefix of the run's own group, outputs and tiers
	Events    int    // the contender ends when this many are finished
	FailEvery int
	FailTimes int    // failed attempts of each failing event; 0 is 1
	Paced     bool   // events are produced at a rate
	Burst     int    // events are produced in bursts of this size, every half second, instead
	Batch     int    // maximum number of records in a transaction of a loop
	Profile   string // file for a CPU profile
}

func (s *spec) output() string { return s.Run + ".out" }
func (s *spec) ledger() string { return s.Run + ".ledger" }

// report is the measurement of a contender.
type report struct {
	Transactions int
	Aborted      int
	Events       int      // finished, in committed transactions
	FirstEvents  int      // events of the first transaction
	Seconds      float64  // from the first commit to the last
	CPU          float64  // user and system seconds of the whole process up to the last commit
	RSS          float64  // highest, in MiB
	Healthy      progress // events that never failed
	Took         summary  // durations of committed transactions, in ms
	Delay        summary  // of healthy events: from their timestamp to their commit, in ms
	Retries      lateness
}

// rate returns events per second from the first commit to the last. Events of the first commit do not count, because
// they were processed before.
func (r *report) rate() float64 { return float64(r.Events-r.FirstEvents) / r.Seconds }

// cpu returns the processor time per event in microseconds.
func (r *report) cpu() float64 { return r.CPU / float64(r.Events) * 1e6 }

// batch returns the events per transaction.
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
	if s.Kind == library {
		do = runEngine
	}
	r, err := do(ctx, &s)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

// start runs a contender in its own process and returns its report.
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

// usage returns the process's processor time in seconds and its highest resident memory in MiB.
func usage() (cpu, rss float64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds(), float64(u.Maxrss) / 1024
}
