package consumer

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// openSink connects the table outside Kafka, if there is one, to the pipeline.
func (c *Consumer) openSink() error {
	hooks := pipeline.Hooks{Read: c.read, Mapped: c.mapped}
	if c.cfg.Sink.PostGIS != nil {
		opened, err := sink.Open(c.cfg, c.log)
		if err != nil {
			return err
		}
		c.sink, hooks.Made, hooks.Repeated = opened, c.write, c.repeated
	}
	c.work.Observe(hooks)
	return nil
}

// write writes a record's row to the table, with the version by which the engine judges it.
func (c *Consumer) write(ctx context.Context, m pipeline.Made) error {
	version, ok := m.Record.Version(m.Version, m.Delete)
	if !ok {
		return fmt.Errorf("a record without a version cannot be written to %s", c.cfg.Sink.PostGIS.Table)
	}
	rows := make([]*sink.Row, len(m.Parts))
	for i, part := range m.Parts {
		key, row, err := c.finder().Find(ctx, part.Key, part.Feature)
		if err != nil {
			return err
		}
		rows[i] = &sink.Row{
			Key: key, RowKey: row, Version: version, Feature: part.Feature, Bytes: part.Bytes,
			ContentHash: part.ContentHash, Source: m.Record.Source.String(),
		}
	}
	return c.sink.Write(ctx, rows)
}

func (c *Consumer) finder() sink.Finder {
	return sink.Finder{Rule: c.cfg.Sink.Key, Path: c.work.KeyPath}
}

// repeated reports whether the row of a duplicate must be written nevertheless.
func (c *Consumer) repeated(ctx context.Context, r *retrytopics.Record, number *int64, contentHash string) (stale bool, err error) {
	version, ok := r.Version(number, false)
	if !ok || r.Key == nil {
		return false, nil
	}
	key, _, err := c.finder().Find(ctx, r.Key, nil)
	if err != nil {
		return false, err
	}
	return c.sink.Repeated(ctx, &sink.Repeat{Key: key, Version: version, ContentHash: contentHash, Source: r.Source.String()})
}

// table refuses to start if rows could not be written, and warns about likely problems of the table. A database that
// does not answer, or refuses the login, does not prevent the start.
func (c *Consumer) table(ctx context.Context) error {
	if c.sink == nil {
		return nil
	}
	notes, err := c.sink.Prepare(ctx)
	for _, note := range notes {
		c.log.WarnContext(ctx, "the sink's table differs from what the pipeline expects", "table", c.cfg.Sink.PostGIS.Table, "mismatch", note.String())
	}
	if err != nil && sink.Deferrable(err) {
		c.log.WarnContext(ctx, "the database of the sink cannot be used yet; records are deferred until it can", "error", err)
		return nil
	}
	return err
}

func (c *Consumer) sinkStatus() []sink.Status {
	if c.sink == nil {
		return nil
	}
	return []sink.Status{c.sink.Status()}
}

// VerifySink compares the table of a pipeline with its output topic. It sets the options for reading records.
func VerifySink(ctx context.Context, cfg *config.Config, client *kgo.Client, o sink.VerifyOptions) (report *sink.VerifyReport, err error) {
	if cfg.Output.Format == config.OutputAvro {
		return nil, errors.New("the output is Avro, which does not keep the notation of numbers: it cannot be compared with the table")
	}
	work, err := pipeline.NewMapping(cfg)
	if err != nil {
		return nil, err
	}
	o.Finder = sink.Finder{Rule: cfg.Sink.Key, Path: work.KeyPath}
	o.Read = func(_ context.Context, value []byte) (*transform.Feature, error) { return work.Output(value) }
	return sink.Verify(ctx, client, cfg, o)
}

// Rekey changes the table of a pipeline to the sink.key of its file. If that is a path, the guard table gets the record
// keys; the feature IDs come from the output topic. Without execute nothing changes.
func Rekey(ctx context.Context, cfg *config.Config, client *kgo.Client, execute bool) (sink.Rekeyed, error) {
	fill := sink.ByOutput(client, cfg.Output.Topic)
	if _, byPath := cfg.Sink.Key.Path(); byPath {
		work, err := pipeline.NewMapping(cfg)
		if err != nil {
			return sink.Rekeyed{}, err
		}
		fill = sink.ByPath(work.KeyPath)
	}
	return sink.Rekey(ctx, cfg, fill, execute)
}
