package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// Options say what is verified, and within which limits.
type Options struct {
	Bounds       Bounds
	Limit        int   // findings that are named, of each kind
	Rounds       int   // looks at most; a violation that a look found is looked at once more before it is named
	MaxPositions int64 // of the source, or of what names it: each takes 8 bytes
	// Proven says whether a replay in the source is one, see retrytopics.Config.
	Proven func(*kgo.Record) error
	// Progress is told what was read so far, about every two seconds; nil is nobody.
	Progress func(topic string, records int64)
}

// Defaults of Options.
const (
	DefaultLimit        = 20
	DefaultRounds       = 3
	DefaultMaxPositions = 50_000_000
)

// between is how long two looks lie apart.
const between = time.Second

// ErrTooMany is wrapped when there are more positions than Options allow.
var ErrTooMany = errors.New("more positions than are held in memory")

// Run verifies a pipeline while it runs. It waits for the end of transactions that are open when it looks (deadletters.ErrUndecided when
// one does not end). The context bounds it.
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
		if report.Verdict != Violated || look >= o.Rounds {
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

	read      map[Spot]int64 // up to where a partition was read
	starts    map[Spot]int64 // where it began
	fronts    map[Spot]front
	compacted map[string]bool
	ids       map[string]kadm.TopicID
	notes     []string
	records   int64
	told      time.Time
}

// look reads what came since the last look, and judges.
func (r *run) look(ctx context.Context) (*Report, error) {
	before, err := r.standing(ctx)
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
	after, err := r.standing(ctx)
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

// prepare makes the account at the first look. A topic that was adopted since has other positions.
func (r *run) prepare(ctx context.Context, now *standing) error {
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
		if sh := r.account.shards[p]; sh == nil || sh.generation != g {
			return errors.New("partitions were added, or topics were adopted, while they were read; run it again")
		}
	}
	return nil
}

// tell says how far it is.
func (r *run) tell(topic string) {
	r.records++
	if now := time.Now(); r.o.Progress != nil && r.records%1024 == 0 && now.Sub(r.told) > 2*time.Second {
		r.told = now
		r.o.Progress(topic, r.records)
	}
}
