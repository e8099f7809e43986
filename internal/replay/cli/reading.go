package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/switchback-geo/switchback/internal/browse"
	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/index"
)

// reading is what all commands that look at letters have in common.
type reading struct {
	index string
	gone  bool
}

func (r *reading) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.index, "index", "", "where the SQL index is: a file, :memory:, or a postgres:// address (default: replayer.index of the pipeline file, else a file in the user's cache folder)")
}

// registerGone adds the flag for commands that select letters.
func (r *reading) registerGone(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.gone, "gone", false, "only letters that the topic no longer has, instead of those that it has")
}

func (r *reading) query(f deadletters.Filter) index.Query {
	return index.Query{Filter: f, Gone: r.gone}
}

// browse opens the reading side; the caller closes it.
func (a *app) browse(ctx context.Context, r *reading) (*browse.Service, error) {
	if a.configFile == "" {
		return nil, usage("which pipeline? Give its file with -c, for example: -c pipeline.yaml")
	}
	cfg, err := config.Load(a.configFile)
	if err != nil {
		return nil, exit(ExitUsage, err)
	}
	return browse.Open(ctx, cfg, browse.Options{Index: r.index, Progress: a.indexProgress(), KafkaOpts: a.env.KafkaOpts, Now: a.env.Now})
}

// indexProgress tells a person that the index is being filled, when that takes a while.
func (a *app) indexProgress() func(index.Progress) {
	if !a.env.Terminal {
		return nil
	}
	shown := int64(-1)
	return func(p index.Progress) {
		if p.Total < manyRecords {
			return
		}
		percent := p.Done * 100 / p.Total
		if percent == shown {
			return
		}
		shown = percent
		end := ""
		if p.Done == p.Total {
			end = "\n"
		}
		fmt.Fprintf(a.env.Err, "\rindexing %s: %d of %d records (%d %%)%s", clean(p.Topic, oneLine), p.Done, p.Total, percent, end)
	}
}

// manyRecords is how many new records are worth a word.
const manyRecords = 20000
