package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/proof"
)

// Options select what is verified, and set limits.
type Options struct {
	Bounds       Bounds
	Limit        int   // named findings of each kind
	MaxPositions int64 // of the source, or named by other records: each takes 8 bytes
	// Proven reports whether a replay in the source is proven, see retrytopics.Origin.
	Proven func(*kgo.Record) error
	// Progress is called about every two seconds with the progress of reading; may be nil.
	Progress func(topic string, records int64)
}

// Defaults of Options.
const (
	DefaultLimit        = 20
	DefaultMaxPositions = 50_000_000
)

// A suspected violation is looked at again before it is named.
const (
	rounds  = 3           // the largest number of passes
	between = time.Second // from one pass to the next
)

// ErrTooMany is wrapped when there are more positions than Options allow.
var ErrTooMany = errors.New("more positions than fit into memory")

// Run verifies a pipeline while it runs. It waits for the end of open transactions (deadletters.ErrUndecided if one does
// not end). The context bounds it.
func Run(ctx context.Context, client *kgo.Client, cfg *config.Config, o Options) (*Report, error) {
	r := &run{
		client: client, admin: kadm.NewClient(client), cfg: cfg, o: o, read: map[Spot]int64{}, starts: map[Spot]int64{},
		fronts: map[Spot]front{}, compacted: map[string]bool{},
	}
	for look := 1; ; look++ {
		report, err := r.look(ctx)
		if err != nil {
			return nil, err
		}
		report.Rounds, report.Records = look, r.records
		report.Notes = append(report.Notes, r.notes...)
		if report.Verdict != Violated || look >= rounds {
			return report, nil
		}
		if err := kafka.Pause(ctx, between); err != nil {
			return nil, fmt.Errorf("verify: %w", err)
		}
	}
}

// run is one run.
type run struct {
	client  *kgo.Client
	admin   *kadm.Client
	cfg     *config.Config
	o       Options
	account *Account

	read      map[Spot]int64 // where the reading of a partition ended
	starts    map[Spot]int64 // where it began
	fronts    map[Spot]front
	compacted map[string]bool
	ids       map[string]kadm.TopicID
	notes     []string
	records   int64
	reported  time.Time
}

// look reads the new records since the last pass, and judges.
func (r *run) look(ctx context.Context) (*Report, error) {
	before, err := r.readPosition(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.prepare(ctx, before); err != nil {
		return nil, err
	}
	cut := before.cut(r.cfg)
	cut.At = time.Now()
	spans, err := r.spans(ctx, before)
	if err != nil {
		return nil, err
	}
	if err := r.fold(ctx, before, spans); err != nil {
		return nil, err
	}
	after, err := r.readPosition(ctx)
	if err != nil {
		return nil, err
	}
	for topic := range before.drained() {
		for p := range spans[topic] {
			spot := Spot{topic, p}
			cut.Marks[spot] = Mark{Start: r.starts[spot], End: r.read[spot], Before: before.commit(spot), After: after.commit(spot)}
		}
	}
	cut.Compacted = r.compacted
	cut.Foreign = before.foreign || after.foreign
	if err := r.members(ctx, &cut); err != nil {
		return nil, err
	}
	return r.account.Judge(cut, r.o.Limit), nil
}

// prepare creates the account at the first pass. Positions of a topic that was adopted since are different ones.
func (r *run) prepare(ctx context.Context, now *groupPosition) error {
	if r.account == nil {
		r.account = NewAccount(r.cfg.Source.Topic, r.cfg.Pipeline.ID, r.o.Bounds, now.generations)
		r.ids = now.ids
		return r.settings(ctx)
	}
	for topic, id := range r.ids {
		if now.ids[topic] != id {
			return fmt.Errorf("topic %s was deleted or re-created while it was read; run it again", topic)
		}
	}
	for p, g := range now.generations {
		if pt := r.account.partitions[p]; pt == nil || pt.generation != g {
			return errors.New("partitions were added, or topics were adopted, while they were read; run it again")
		}
	}
	return nil
}

// reportProgress reports progress.
func (r *run) reportProgress(topic string) {
	r.records++
	if now := time.Now(); r.o.Progress != nil && r.records%1024 == 0 && now.Sub(r.reported) > 2*time.Second {
		r.reported = now
		r.o.Progress(topic, r.records)
	}
}

// cleanup is the setting that decides whether a topic may lose records in the middle.
const cleanup = "cleanup.policy"

// settings reads which topics are compacted. A topic whose settings are not visible counts as compacted: then a record
// without an end cannot be known instead of being missing.
func (r *run) settings(ctx context.Context) error {
	for _, topic := range append(r.ends(), r.cfg.Source.Topic) {
		settings, err := kafka.Settings(ctx, r.admin, topic)
		if errors.Is(err, kerr.TopicAuthorizationFailed) {
			r.compacted[topic] = true
			r.notes = append(r.notes, fmt.Sprintf("%v; it is treated as compacted", kafka.DeniedTopic("DescribeConfigs", topic, err)))
			continue
		}
		if err != nil {
			return fmt.Errorf("ask the broker for the settings of %s: %w", topic, err)
		}
		r.compacted[topic] = r.compacted[topic] || strings.Contains(settings[cleanup], "compact")
	}
	return nil
}

// stable is the state of a group that is not rebalancing.
const stable = "Stable"

// members stores which partitions the running instances consume. While the group rebalances, that is unknown.
func (r *run) members(ctx context.Context, cut *Cut) error {
	g, err := kafka.DescribeGroup(ctx, r.admin, r.cfg.Source.Group)
	if err != nil {
		return err
	}
	cut.Members = len(g.Members)
	if g.State != stable || cut.Members == 0 {
		return nil
	}
	cut.Consumed = map[Spot]bool{}
	for topic, partitions := range g.AssignedPartitions() {
		for p := range partitions {
			cut.Consumed[Spot{topic, p}] = true
		}
	}
	return nil
}

// Prover returns [Options].Proven: with the keys of the environment or, if there are none, those of the control topic.
// The error names the variable.
func Prover(lookup func(string) string, held []proof.Key) (func(*kgo.Record) error, error) {
	keys, err := proof.FromEnvironment(lookup)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		keys = held
	}
	ring := new(proof.Keyring)
	ring.Set(keys)
	return ring.Verify, nil
}
