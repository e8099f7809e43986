package consumer

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/sink"
)

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
