package dryrun

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/pipeline"
	"github.com/switchback-geo/switchback/internal/replay/target"
)

// Runner runs the mapping of a pipeline on dead letters without side effects. It is safe for concurrent use.
type Runner struct {
	Config  *config.Config
	Opts    []kgo.Opt // of clients that read the control topic
	Client  *kgo.Client
	Mapping *pipeline.Mapping
	Headers target.HeaderRules
	Alone   bool // the DLQ has no pipeline: nothing judges its dead letters
	Log     *slog.Logger

	fingerprint func() (string, error)
	limits      atomic.Pointer[outputLimits] // nil before the cluster has answered
}

// New returns a runner of a mapping.
func New(cfg *config.Config, opts []kgo.Opt, client *kgo.Client, mapping *pipeline.Mapping, alone bool, log *slog.Logger) *Runner {
	return &Runner{
		Config: cfg, Opts: opts, Client: client, Mapping: mapping, Headers: target.NewHeaderRules(cfg.Replayer.Headers), Alone: alone, Log: log,
		fingerprint: sync.OnceValues(mapping.Fingerprint),
	}
}

// Fingerprint returns the fingerprint of the mapping. A runner does not reread reference sets, so it is computed once:
// it hashes their keys.
func (d *Runner) Fingerprint() (string, error) { return d.fingerprint() }
