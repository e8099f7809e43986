package dlqindex

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// Options is what [OpenIndex] takes besides the configuration: the kind of the DLQ, and where its index is.
type Options struct {
	Foreign bool             // the DLQ is of other software, and has no status topic
	Alone   bool             // there is no pipeline: the DLQ has a status topic once it was changed
	Dialect dialects.Dialect // who wrote the DLQ; "" goes by the headers of each letter

	States   kafka.Log // where the states are, in place of the cluster; nil is none
	StatesID string    // identifies States

	Place   string // file, [InMemory] or postgres:// address; "" is the place in the configuration, else the default file
	Rebuild bool   // the index will be rebuilt: a damaged file is set aside

	Progress func(Progress)   // called while the index is synced; may be nil
	Doubt    func(why string) // called with the reason if states may be missing; may be nil
	Now      func() time.Time // the clock. Defaults to time.Now
}

// Index is the index of one DLQ, with the cluster that it is synced from. It is safe for concurrent use, except Rebuild and Close.
type Index struct {
	*database
	client  *kgo.Client
	source  Source
	cluster string
	keep    time.Duration // of letters that are resolved and that the topic no longer has
	options Options
}

// OpenIndex opens the index of the DLQ of a configuration. The caller must Close it; the client stays open.
func OpenIndex(ctx context.Context, client *kgo.Client, cfg *config.Config, o Options) (*Index, error) {
	x := &Index{client: client, source: sourceOf(cfg, o), keep: cfg.DeadLetters.KeepResolved.Std(), options: o}
	if x.options.Now == nil {
		x.options.Now = time.Now
	}
	meta, err := kadm.NewClient(client).BrokerMetadata(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the cluster for its id: %w", err)
	}
	x.cluster = meta.Cluster
	if err := x.findStates(ctx); err != nil {
		return nil, err
	}
	place, err := x.chosenPlace(cfg)
	if err != nil {
		return nil, err
	}
	x.database, err = open(ctx, place)
	if _, damaged := errors.AsType[*DamagedError](err); damaged && o.Rebuild {
		x.database, err = replace(ctx, place, err)
	}
	return x, err
}

// sourceOf returns the source of the index: its topics, and how they are read.
func sourceOf(cfg *config.Config, o Options) Source {
	s := Source{DLQ: cfg.Topics.DLQ, Status: cfg.Topics.DLQStatus, MaxReplays: cfg.DeadLetters.MaxReplays, States: o.States, StatesID: o.StatesID}
	s.Reading = deadletters.Reading{Dialect: o.Dialect, Alone: o.Alone, MaxValue: max(cfg.Source.MaxRecordBytes, kafka.MaxValue)}
	if o.Foreign {
		s.Status, s.MaxReplays = "", 0
	}
	return s
}

// findStates looks for the status topic of a DLQ without a pipeline, which the first change creates.
func (x *Index) findStates(ctx context.Context) error {
	if !x.options.Alone || x.options.States != nil {
		return nil
	}
	status := x.source.Status
	_, err := kafka.Partitions(ctx, x.client, status)
	_, denied := errors.AsType[*retrytopics.DeniedError](err)
	if denied && x.options.Doubt != nil {
		x.options.Doubt(fmt.Sprintf("topic %s may not be looked at: dead letters that were put back, discarded or escalated before look pending here", status))
	}
	if errors.Is(err, kafka.ErrNoTopic) || errors.Is(err, kerr.InvalidTopicException) || denied {
		x.source.Status, err = "", nil
	}
	return err
}

// chosenPlace returns the place of the index: that of the options, of the configuration, or the default file.
func (x *Index) chosenPlace(cfg *config.Config) (string, error) {
	if x.options.Place != "" {
		return x.options.Place, nil
	}
	configured, err := cfg.Replayer.Index.Place()
	if err != nil {
		return "", err
	}
	if place := configured.Reveal(); place != "" {
		return place, nil
	}
	return defaultFile(cmp.Or(x.cluster, "unknown"), x.source.DLQ)
}

// Source returns the source of the index.
func (x *Index) Source() Source { return x.source }

// DLQ returns the DLQ as the index has it. The error is [ErrNotIndexed] if it was never synced.
func (x *Index) DLQ(ctx context.Context) (*DLQ, error) {
	d := &DLQ{database: x.database, topic: x.source.DLQ}
	err := x.row(ctx, "SELECT dlq FROM @dead_letter_source WHERE cluster_id = ? AND topic = ?", x.cluster, d.topic).Scan(&d.number)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%s: %w", d.topic, ErrNotIndexed)
	}
	return d, damage(x.place, wrapped("look for "+d.topic+" in the index", err))
}

// Fresh syncs the index and returns the DLQ in it.
func (x *Index) Fresh(ctx context.Context) (*DLQ, error) {
	if _, err := x.Sync(ctx); err != nil {
		return nil, err
	}
	return x.DLQ(ctx)
}

// Rebuild drops what the index has of this DLQ and reads it from its start. A damaged file is set aside.
func (x *Index) Rebuild(ctx context.Context) (Synced, error) {
	err := x.forget(ctx)
	var done Synced
	if err == nil {
		done, err = x.Sync(ctx)
	}
	if _, damaged := errors.AsType[*DamagedError](err); !damaged || x.engine != SQLite {
		return done, err
	}
	if closing := x.Close(); closing != nil {
		return done, errors.Join(err, closing)
	}
	if x.database, err = replace(ctx, x.place, err); err != nil {
		return done, err
	}
	return x.Sync(ctx)
}

// forget deletes all that the index has of the DLQ.
func (x *Index) forget(ctx context.Context) error {
	d, err := x.DLQ(ctx)
	if errors.Is(err, ErrNotIndexed) {
		return nil
	}
	if err != nil {
		return err
	}
	return x.inTx(ctx, func(tx *tx) error {
		if err := tx.forget(d.number); err != nil {
			return err
		}
		return tx.exec("DELETE FROM @dead_letter_source WHERE dlq = ?", d.number)
	})
}
