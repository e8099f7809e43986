package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// bench is one run.
type bench struct {
	brokers     []string
	deadLetters int
	partitions  int32
	binary      string
	compare     bool // with the bare producer
	foreign     bool // the DLQ is one of Spring Kafka, without a pipeline

	id, dir, file string
	client        *kgo.Client
}

// run measures and prints.
func (b *bench) run(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "switchback-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	b.id = fmt.Sprintf("bench-replayer-%d", time.Now().UnixNano())
	if b.client, err = kgo.NewClient(kgo.SeedBrokers(b.brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner())); err != nil {
		return err
	}
	defer b.client.Close()
	if err := b.prepare(ctx); err != nil {
		return err
	}
	defer b.remove()
	if err := b.produceDeadLetters(ctx); err != nil {
		return err
	}
	if !b.compare {
		_, err := b.replay(ctx)
		return err
	}
	before, err := b.bares(ctx)
	if err != nil {
		return err
	}
	span, err := b.replay(ctx)
	if err != nil {
		return err
	}
	after, err := b.bares(ctx) // before and after, so that a slow change of the machine favours neither
	if err != nil {
		return err
	}
	ratio := func(i int) float64 { return (before[i] + after[i]).Seconds() / 2 / span.Seconds() }
	fmt.Printf("of the bare producer: %.2f (letter, state and event), %.2f (the letter alone)\n", ratio(1), ratio(0))
	return nil
}

// bares measures the bare producer, first with the reinjected record alone, then with everything that a replay writes
// for a dead letter.
func (b *bench) bares(ctx context.Context) (took [2]time.Duration, err error) {
	for i, way := range []struct {
		name string
		pick func(*deadLetter) []*kgo.Record
	}{
		{"the letter alone:          ", func(l *deadLetter) []*kgo.Record { return []*kgo.Record{l.back} }},
		{"letter, state and event:   ", func(l *deadLetter) []*kgo.Record { return []*kgo.Record{l.back, l.state, l.event} }},
	} {
		if took[i], err = b.bare(ctx, way.pick); err != nil {
			return took, err
		}
		fmt.Println("bare producer,", way.name, rate(b.deadLetters, took[i]))
	}
	return took, nil
}

// replay measures the command: first the plan, then its execution. It returns the time of the execution.
func (b *bench) replay(ctx context.Context) (time.Duration, error) {
	plan := filepath.Join(b.dir, "plan.jsonl")
	planning, memory, _, err := b.command(ctx, b.of("plan", "-f", plan, "-o", "table")...)
	if err != nil {
		return 0, err
	}
	fmt.Printf("replayer plan:                              %s, %d MB at the most\n", rate(b.deadLetters, planning), memory)
	_, memory, out, err := b.command(ctx, b.of("replay", "--plan", plan, "--execute", "--reason", "bench", "-o", "json")...)
	if err != nil {
		return 0, err
	}
	var result struct {
		Reinjected int `json:"reinjected"`
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		return 0, fmt.Errorf("read the result: %w\n%s", err, out)
	}
	span, n, err := b.count(ctx)
	if err != nil {
		return 0, err
	}
	if n != b.deadLetters || result.Reinjected != b.deadLetters {
		return 0, fmt.Errorf("the source topic has %d dead letters, the replayer reports %d, want %d", n, result.Reinjected, b.deadLetters)
	}
	fmt.Printf("replayer replay --plan:                     %s, %d MB at the most\n", rate(b.deadLetters, span), memory)
	return span, nil
}

// of adds the flags that select the DLQ to a command.
func (b *bench) of(command ...string) []string {
	if !b.foreign {
		return append(command, "-c", b.file)
	}
	command = append(command, "--brokers", strings.Join(b.brokers, ","), "--topic", b.dlq())
	if command[0] == "replay" {
		command = append(command, "--create-topics")
	}
	return command
}

func (b *bench) dlq() string { return b.id + ".dlq" }

// command runs the replayer and returns its duration and its peak memory in MB.
func (b *bench) command(ctx context.Context, args ...string) (took time.Duration, memory int, out string, err error) {
	cmd := exec.CommandContext(ctx, b.binary, args...) // #nosec G204 -- the bench runs the command it measures
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, "", fmt.Errorf("replayer %s: %w\n%s", args[0], err, stderr.String())
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, 0, "", errors.New("the memory of a process is unknown on this system")
	}
	return time.Since(began), int(usage.Maxrss / 1024), stdout.String(), nil
}

// prepare builds the command, writes the pipeline file and creates the topics.
func (b *bench) prepare(ctx context.Context) error {
	if b.binary == "" {
		b.binary = filepath.Join(b.dir, "replayer-command")
		build := exec.CommandContext(ctx, "go", "build", "-o", b.binary, "github.com/switchback-geo/switchback/cmd/replayer") // #nosec G204
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the replayer: %w\n%s", err, out)
		}
	}
	b.file = filepath.Join(b.dir, "pipeline.yaml")
	text := fmt.Sprintf(`pipeline:
  id: %s
  retry_policy: { max_attempts: 5, base_delay_seconds: 2.0, retryable_status_codes: [429, 503] }
  tolerance: { max_null_rate: 1, halt_on_geometry_invalid: false }
kafka: { brokers: [%s] }
`, b.id, strings.Join(b.brokers, ", "))
	if err := os.WriteFile(b.file, []byte(text), 0o600); err != nil {
		return err
	}
	answers, err := kadm.NewClient(b.client).CreateTopics(ctx, b.partitions, 1, nil, b.topics()...)
	if err == nil {
		err = answers.Error()
	}
	return err
}

func (b *bench) topics() []string {
	if b.foreign {
		return []string{b.id, b.dlq(), b.dlq() + ".replayer-status", b.dlq() + ".replayer-audit", b.id + ".bare"}
	}
	return []string{b.id, b.dlq(), b.id + ".dlq-status", b.id + ".audit", b.id + ".state", b.id + ".control", b.id + ".bare"}
}

func (b *bench) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if _, err := kadm.NewClient(b.client).DeleteTopics(ctx, b.topics()...); err != nil {
		fmt.Fprintln(os.Stderr, "the topics of this run are still there:", err)
	}
}
