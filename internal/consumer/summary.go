package consumer

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Status is how a run ended.
type Status string

// The statuses.
const (
	StatusCompleted   Status = "completed"   // the bounded run is done
	StatusInterrupted Status = "interrupted" // stopped on purpose; finished work is committed
	StatusPaused      Status = "paused"      // the pipeline is paused; finished work is committed
	StatusFailed      Status = "failed"
)

// Statuses lists every status.
func Statuses() []Status {
	return []Status{StatusCompleted, StatusInterrupted, StatusPaused, StatusFailed}
}

// Summary is the result of a run. consumed = delivered + dead_lettered + duplicates + superseded + filtered + waiting,
// for a run that began with nothing waiting.
type Summary struct {
	RunID           string           `json:"run_id"`
	Pipeline        string           `json:"pipeline"`
	Status          Status           `json:"status"`
	Consumed        int64            `json:"consumed"`
	Delivered       int64            `json:"delivered"`
	Retried         int64            `json:"retried"`
	DeadLettered    int64            `json:"dead_lettered"`
	Duplicates      int64            `json:"duplicates"`
	Superseded      int64            `json:"superseded"`
	Filtered        int64            `json:"filtered"`
	Waiting         int64            `json:"waiting"`
	DLQRate         float64          `json:"dlq_rate"`
	Checkpoint      map[string]int64 `json:"checkpoint"` // partition of the source → committed offset
	DurationSeconds float64          `json:"duration_seconds"`
	Reason          string           `json:"reason,omitempty"`              // why the run did not complete
	MaxDLQRate      *float64         `json:"max_dlq_rate,omitempty"`        // the run's limit, if it had one
	SLASeconds      float64          `json:"sla_seconds,omitempty"`         // the run's service level, if it had one
	SLAMissed       bool             `json:"sla_missed,omitempty"`          // it took longer
	DeadParts       int64            `json:"parts_dead_lettered,omitempty"` // features of collections that are separate dead letters; their records are delivered
	Lost            int64            `json:"lost_to_retention,omitempty"`   // upper bound of the records that were deleted before they were consumed

	QuarantinedBatches []string `json:"quarantined_batches,omitempty"` // batches that this run quarantined, or whose records it made dead letters for that, by name
	LimitsExceeded     []string `json:"limits_exceeded,omitempty"`     // why a finished run ends with exit code 4
}

// finished counts the records that do not wait.
func (s *Summary) finished() int64 {
	return s.Delivered + s.DeadLettered + s.Duplicates + s.Superseded + s.Filtered
}

// records counts the records of the run: those that it consumed, and those that waited when it began, if it finished
// more than it consumed.
func (s *Summary) records() int64 { return max(s.Consumed, s.finished()) }

func (s *Summary) dlqRate() float64 {
	return float64(s.DeadLettered) / float64(max(s.records(), 1))
}

// Progress is a snapshot of a running consumer.
type Progress struct {
	Delivered, Retried, DeadLettered int64
	Tiers                            []TierProgress
}

// TierProgress is the content of one tier, and its lateness.
type TierProgress struct {
	Topic                    string
	Waiting                  int64
	NextDue                  time.Time // zero if nothing waits in memory
	Retried                  int64     // records put into this tier
	LatenessP50, LatenessP99 time.Duration
}

// tally counts committed events for summary and progress.
type tally struct {
	source      string
	mu          sync.Mutex
	counts      Summary
	quarantined map[string]bool            // batches with dead letters since they were quarantined
	into        map[string]int64           // tier topic → records put into it
	late        map[string][]time.Duration // tier topic → sample of lateness
	seen        map[string]int             // tier topic → number of attempts from it
}

// maxSample bounds the memory of a lateness sample; beyond it, a random entry is replaced.
const maxSample = 1 << 14

func newTally(cfg *config.Config) *tally {
	return &tally{
		source: cfg.Source.Topic, quarantined: map[string]bool{}, into: map[string]int64{},
		late: map[string][]time.Duration{}, seen: map[string]int{},
	}
}

func (t *tally) add(e *retrytopics.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := e.Record.Position.Topic
	if from == t.source {
		t.counts.Consumed++
	} else if e.Decision.Outcome != policy.OutcomeParked {
		t.sample(from, e.Lateness)
	}
	t.counts.DeadParts += int64(len(e.Dead))
	switch e.Decision.Outcome {
	case policy.OutcomeDelivered:
		t.counts.Delivered++
	case policy.OutcomeRetried:
		t.counts.Retried++
		t.into[e.Destination]++
	case policy.OutcomeDeadLettered:
		t.counts.DeadLettered++
		if e.Failure.Code == classify.CodeBatchQuarantined {
			t.quarantined[batchOf(e.Record.Headers)] = true
		}
	case policy.OutcomeDuplicate:
		t.counts.Duplicates++
	case policy.OutcomeSuperseded:
		t.counts.Superseded++
	case policy.OutcomeFiltered, policy.OutcomeSkipped:
		t.counts.Filtered++
	case policy.OutcomeParked:
	}
}

// sum returns the counts so far.
func (t *tally) sum() Summary {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts
}

func (t *tally) sample(tier string, late time.Duration) {
	t.seen[tier]++
	if len(t.late[tier]) < maxSample {
		t.late[tier] = append(t.late[tier], late)
	} else if i := rand.IntN(t.seen[tier]); i < maxSample {
		t.late[tier][i] = late
	}
}

// Progress returns a snapshot.
func (c *Consumer) Progress() Progress {
	stats := c.engine.Stats()
	c.tally.mu.Lock()
	defer c.tally.mu.Unlock()
	n := c.tally.counts
	p := Progress{Delivered: n.Delivered, Retried: n.Retried, DeadLettered: n.DeadLettered}
	for _, tier := range stats.Tiers {
		late := slices.Sorted(slices.Values(c.tally.late[tier.Topic]))
		p.Tiers = append(p.Tiers, TierProgress{
			Topic: tier.Topic, Waiting: tier.Waiting, NextDue: tier.NextDue, Retried: c.tally.into[tier.Topic],
			LatenessP50: quantile(late, 0.50), LatenessP99: quantile(late, 0.99),
		})
	}
	return p
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(float64(len(sorted)-1)*q)]
}

// Summary returns what the run did. It is complete once Run has returned.
func (c *Consumer) Summary() Summary {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.summary
}

// sum sets the summary at the end of a run.
func (c *Consumer) sum(ctx context.Context, client *kgo.Client, err error) {
	s := c.tally.sum()
	if c.lines != nil {
		c.lines.write(s, true)
	}
	s.RunID, s.Pipeline, s.DurationSeconds = c.runID, c.cfg.Pipeline.ID, time.Since(c.began).Seconds()
	switch paused, isPaused := errors.AsType[*PausedError](err); {
	case isPaused:
		s.Status, s.Reason = StatusPaused, paused.State.String()
	case err != nil && !errors.Is(err, context.Canceled):
		s.Status, s.Reason = StatusFailed, err.Error()
	case ctx.Err() != nil:
		s.Status = StatusInterrupted
	default:
		s.Status = StatusCompleted
	}
	s.DLQRate = s.dlqRate()
	s.QuarantinedBatches = c.quarantinedBatches()
	stats := c.engine.Stats()
	for _, tier := range stats.Tiers {
		s.Waiting += tier.Waiting
	}
	for _, n := range stats.Lost {
		s.Lost += n
	}
	if s.Status == StatusCompleted {
		s.Waiting = 0 // the run ended because nothing waits, in any instance
	}
	s.MaxDLQRate, s.SLASeconds = c.limits.MaxDLQRate, c.limits.SLA.Seconds()
	s.SLAMissed = s.SLASeconds > 0 && s.DurationSeconds > s.SLASeconds
	s.Checkpoint = c.checkpoint(ctx, client)
	c.log.InfoContext(ctx, "consumer stopped", "status", s.Status, "consumed", s.Consumed, "delivered", s.Delivered, "retried", s.Retried,
		"dead_lettered", s.DeadLettered, "waiting", s.Waiting, "lost_to_retention", s.Lost, "dlq_rate", s.DLQRate,
		"dlq_rate_tolerated", c.cfg.Pipeline.Tolerance.MaxDeadLetterRate, "checkpoint", s.Checkpoint, "duration_seconds", s.DurationSeconds)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.summary = s
}

// quarantinedBatches returns the batches that this run quarantined, and those whose records it put into the DLQ
// because of a quarantine.
func (c *Consumer) quarantinedBatches() []string {
	all := c.orders.quarantinedBy(c.runID)
	c.tally.mu.Lock()
	defer c.tally.mu.Unlock()
	maps.Copy(all, c.tally.quarantined)
	return slices.Sorted(maps.Keys(all))
}

// checkpoint reads the group's committed offsets of the source topic.
func (c *Consumer) checkpoint(ctx context.Context, client *kgo.Client) map[string]int64 {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	at := map[string]int64{}
	offsets, err := kadm.NewClient(client).FetchOffsets(bounded, c.cfg.Source.Group)
	if err != nil {
		if !errors.Is(err, kerr.GroupIDNotFound) { // the run ended before its first commit
			c.log.WarnContext(ctx, "cannot read the checkpoint", "error", err)
		}
		return at
	}
	offsets.Each(func(o kadm.OffsetResponse) {
		if o.Topic == c.cfg.Source.Topic && o.At >= 0 {
			at[strconv.Itoa(int(o.Partition))] = o.At
		}
	})
	return at
}
