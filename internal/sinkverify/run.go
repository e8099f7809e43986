package sinkverify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Options say what is compared, and within which limits.
type Options struct {
	Limit   int  // findings that are named, of each kind
	MaxKeys int  // of the output topic: each takes about 80 bytes
	Repair  bool // what is wrong is written again
	// Read takes the feature out of an output, nil where its content is not to be compared.
	Read func(ctx context.Context, value []byte) (*transform.Feature, error)
	// Finds gives how the guard names a record key, and what finds the row of a feature.
	Finds func(ctx context.Context, recordKey []byte, feature *transform.Feature) (guard, row []byte, err error)
}

// Defaults of Options.
const (
	DefaultLimit   = 20
	DefaultMaxKeys = 10_000_000
)

// batchSize is how many rows are compared at once.
const batchSize = 500

// run is one comparison.
type run struct {
	cfg    *config.Config
	table  *sink.Sink
	audit  *sink.Audit
	o      Options
	report *Report
	newest newest
	batch  []*item
	evict  []string
}

// item is the newest record of a key.
type item struct {
	row  *sink.Row
	said said
	at   string
}

// Run compares the table with the output topic as it is when it begins. The pipeline may run. The context bounds it.
func Run(ctx context.Context, client *kgo.Client, cfg *config.Config, table *sink.Sink, o Options) (report *Report, err error) {
	topic := cfg.Output.Topic
	spans, err := kafka.DecidedSpans(ctx, client, topic)
	if err != nil {
		return nil, err
	}
	r := &run{cfg: cfg, table: table, o: o, newest: newest{places: map[keyHash]place{}, most: o.MaxKeys}}
	r.report = &Report{Pipeline: cfg.Pipeline.ID, Table: cfg.Sink.PostGIS.Table, At: time.Now(), Found: map[Kind]int64{}}
	if err := kafka.Scan(ctx, client, topic, maps.Clone(spans), func(rec *kgo.Record) error { return r.first(ctx, rec) }); err != nil {
		return nil, err
	}
	if r.audit, err = table.Audit(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.audit.End(context.WithoutCancel(ctx))) }()
	err = kafka.Scan(ctx, client, topic, spans, func(rec *kgo.Record) error {
		return r.second(ctx, rec)
	})
	if err == nil {
		err = r.flush(ctx)
	}
	if err == nil {
		err = r.extras(ctx)
	}
	if err != nil {
		return nil, err
	}
	r.report.judge()
	return r.report, nil
}

// first notes where the newest record of each key lies.
func (r *run) first(ctx context.Context, rec *kgo.Record) error {
	r.report.Records++
	key, _, err := r.o.Finds(ctx, rec.Key, nil)
	if err != nil {
		return fmt.Errorf("output %s: %w", positionOf(rec), err)
	}
	return r.newest.take(key, rec)
}

// second takes the newest ones.
func (r *run) second(ctx context.Context, rec *kgo.Record) error {
	key, _, err := r.o.Finds(ctx, rec.Key, nil)
	if err != nil || !r.newest.is(key, rec) {
		return err
	}
	return r.take(ctx, rec)
}

func positionOf(rec *kgo.Record) string {
	return retrytopics.Position{Topic: rec.Topic, Partition: rec.Partition, Offset: rec.Offset}.String()
}

// take adds the newest record of a key to the batch.
func (r *run) take(ctx context.Context, rec *kgo.Record) error {
	at := positionOf(rec)
	it, err := r.item(ctx, rec)
	if err != nil {
		return fmt.Errorf("output %s: %w", at, err)
	}
	it.at = at
	r.report.Keys++
	if !it.said.deletes {
		r.report.Live++
	}
	if r.batch = append(r.batch, it); len(r.batch) < batchSize {
		return nil
	}
	return r.flush(ctx)
}

func (r *run) item(ctx context.Context, rec *kgo.Record) (*item, error) {
	control, err := retrytopics.ParseControl(rec.Headers)
	if err != nil {
		return nil, err
	}
	if !control.HasSource {
		return nil, errors.New("the record has no header " + retrytopics.HeaderSource + ": the pipeline did not write it")
	}
	loose := r.cfg.Ordering.Mode == config.OrderingNone && r.cfg.Source.Version != ""
	it := &item{said: said{deletes: rec.Value == nil, loose: loose, source: control.Source, place: retrytopics.VersionPosition(control.Generation, control.Source.Offset)}}
	it.row = &sink.Row{ContentHash: control.ContentHash, Source: control.Source.String(), Version: retrytopics.Version{Offset: it.said.place}, Bytes: len(rec.Value)}
	if rec.Value != nil {
		if it.row.Feature, err = r.o.Read(ctx, rec.Value); err != nil {
			return nil, err
		}
	}
	it.row.Key, it.row.RowKey, err = r.o.Finds(ctx, rec.Key, it.row.Feature)
	return it, err
}

// flush compares a batch, and repairs what is wrong with it.
func (r *run) flush(ctx context.Context) error {
	batch := r.batch
	r.batch = nil
	if len(batch) == 0 {
		return nil
	}
	facts, err := r.check(ctx, batch)
	if err != nil {
		return err
	}
	var wrong []*item
	for i, it := range batch {
		kind := judge(it.said, facts[i])
		if kind == "" {
			continue
		}
		r.note(Finding{Kind: kind, Key: string(it.row.Key), Output: it.at, Source: it.row.Source, Guard: facts[i].Source})
		if kind.Violates() && r.o.Repair && r.repairable(it, facts[i]) {
			wrong = append(wrong, it)
		}
	}
	return r.repair(ctx, wrong)
}

func (r *run) check(ctx context.Context, items []*item) ([]sink.Fact, error) {
	rows := make([]*sink.Row, len(items))
	for i, it := range items {
		rows[i] = it.row
	}
	return r.audit.Check(ctx, rows)
}

// note counts a finding, and names the first of each kind.
func (r *run) note(f Finding) {
	if r.report.Found[f.Kind]++; r.report.Found[f.Kind] <= int64(r.o.Limit) {
		r.report.Findings = append(r.report.Findings, f)
	}
}

// extras looks at the rows that no key of the topic has.
func (r *run) extras(ctx context.Context) (err error) {
	r.report.Rows, err = r.audit.Extras(ctx, func(x sink.Extra) error {
		kind := Extra
		if x.Known {
			kind = Unknown
		}
		r.note(Finding{Kind: kind, Key: x.Key})
		if kind == Extra && r.o.Repair && len(r.evict) < maxEvicted {
			r.evict = append(r.evict, x.Key)
		}
		return nil
	})
	if err == nil && len(r.evict) > 0 {
		var gone int64
		gone, err = r.table.Evict(ctx, r.evict)
		r.report.Repaired += gone
	}
	return err
}

// maxEvicted bounds the rows of nobody that one run takes away; the next one goes on.
const maxEvicted = 100_000
