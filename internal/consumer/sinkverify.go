package consumer

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/sink"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// VerifySink compares the table of a pipeline with its output topic. It sets the options for reading records.
func VerifySink(ctx context.Context, cfg *config.Config, client *kgo.Client, o sink.VerifyOptions) (report *sink.VerifyReport, err error) {
	if cfg.Output.Format == config.OutputAvro {
		return nil, errors.New("the output is Avro, which does not keep how a number was written: it cannot be compared with the table")
	}
	work, err := pipeline.NewMapping(cfg)
	if err != nil {
		return nil, err
	}
	o.Finder = sink.Finder{Rule: cfg.Sink.Key, Path: work.KeyPath}
	o.Read = func(_ context.Context, value []byte) (*transform.Feature, error) { return work.Output(value) }
	return sink.Verify(ctx, client, cfg, o)
}
