package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/enrich"
	"github.com/switchback-geo/switchback/internal/refdata"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Pipeline processes the records of one configuration. Its methods are safe for concurrent use.
type Pipeline struct {
	*Mapping
	steps *enrich.Steps
	hooks Hooks

	classify func(error) classify.Failure
}

// Hooks are called for the records that pass. A hook that is nil is not called. The error of a hook becomes the error of
// the attempt.
type Hooks struct {
	// Read is called with each source feature that can be mapped, and with the number of its part of the record, from 0.
	Read func(r *retrytopics.Record, part int, source *transform.Feature) error
	// Mapped is called with each mapped feature before the remote steps, and with each delete, whose target is nil.
	// again means that an earlier attempt, which did not count, already called it. Mapped is called from many
	// goroutines.
	Mapped func(r *retrytopics.Record, target *transform.Feature, again bool) error
	// Repeated returns whether a duplicate must be written again to a destination outside Kafka. If it must, Made is
	// called, and nothing is written to the output topic. Repeated is not called for collections that are split.
	Repeated func(ctx context.Context, r *retrytopics.Record, version *int64, contentHash string) (stale bool, err error)
	// Made is called with the result of a record before the engine gets it.
	Made func(ctx context.Context, m Made) error
}

// Made is the result of a record.
type Made struct {
	Record  *retrytopics.Record
	Version *int64 // see retrytopics.Result
	Delete  bool
	Parts   []Part // one for each output
}

// Part describes one output.
type Part struct {
	Key         []byte
	Feature     *transform.Feature // nil for a delete
	Bytes       int                // of the output
	ContentHash string

	index    int // of the feature in its collection
	identity retrytopics.Identity
}

// New compiles the configuration. The logger may be nil. Remote steps log to it when their circuit breakers open and
// close.
func New(cfg *config.Config, logger *slog.Logger) (*Pipeline, error) {
	mapping, err := newMapping(cfg, cmp.Or(logger, slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	policy := cfg.Pipeline.RetryPolicy
	classifier := classify.New(policy.Classification())
	steps, err := enrich.New(cfg.Enrich, enrich.Options{
		Logger: logger, Classify: classifier.Of, RetryAfterLimit: policy.RetryAfterLimit.Std(),
	})
	if err != nil {
		return nil, fmt.Errorf("enrich: %w", err)
	}
	return &Pipeline{
		Mapping: mapping, steps: steps, classify: classifier.Of,
		hooks: Hooks{Mapped: func(*retrytopics.Record, *transform.Feature, bool) error { return nil }},
	}, nil
}

// Observe sets the hooks. The caller must call it before the first record.
func (p *Pipeline) Observe(h Hooks) {
	if h.Mapped == nil {
		h.Mapped = p.hooks.Mapped
	}
	p.hooks = h
}

// Watch follows changes of reference sets until the context ends, logs them and calls changed. It checks the files of
// the sets at the given interval; 0 means the default.
func (p *Pipeline) Watch(ctx context.Context, interval time.Duration, log *slog.Logger, named func(error) error, changed func(context.Context)) {
	p.sets.Watch(ctx, cmp.Or(interval, refdata.DefaultInterval), func(r refdata.Reload) {
		if r.Err != nil {
			log.WarnContext(ctx, "reference set: it cannot be read and stays as it was", "set", r.Name, "from", r.From, "error", named(r.Err))
			return
		}
		log.InfoContext(ctx, "reference set changed", "set", r.Name, "from", r.From, "keys", r.Keys)
		changed(ctx)
	})
}

// Retune applies the rates and breakers of the remote steps of another configuration (see [enrich.Steps.Retune]).
func (p *Pipeline) Retune(cfg *config.Config) { p.steps.Retune(cfg.Enrich) }

// Providers returns the state of each provider of the remote steps: its circuit breaker, rate limit and outcomes.
func (p *Pipeline) Providers() []enrich.Status { return p.steps.Status() }

// Close closes the connections of the remote steps.
func (p *Pipeline) Close() { p.steps.Close() }

// Handle maps one record. A delete becomes a tombstone without any transform, whatever the format.
func (p *Pipeline) Handle(ctx context.Context, r *retrytopics.Record) (retrytopics.Result, error) {
	content, err := p.admit(ctx, r)
	if err != nil {
		return retrytopics.Result{Identity: unread(r.Key, r.Value)}, err
	}
	marks, denied := p.governance.Marks(r.Headers, r.Control, features(&content)...)
	if content.Delete {
		result := p.delete(r, content.FeatureID)
		result.Marks = marks
		if denied != nil {
			return retrytopics.Result{Identity: result.Identity}, denied
		}
		if err := p.hooks.Mapped(r, nil, false); err != nil {
			return retrytopics.Result{Identity: result.Identity}, err
		}
		made := Made{Record: r, Delete: true, Parts: []Part{{Key: r.Key, ContentHash: result.ContentHash}}}
		if err := p.reportMade(ctx, made, result.Outputs); err != nil {
			return retrytopics.Result{Identity: result.Identity, Delete: true}, err
		}
		return result, nil
	}
	if content.Features != nil {
		return p.split(ctx, r, &content, marks, denied)
	}
	result, err := p.feature(ctx, r, content.Feature, marks, denied)
	result.Identity = p.named(result.Identity, content.Feature)
	return result, err
}

// feature maps a record with one feature. denied is why governance stops it, if it does.
func (p *Pipeline) feature(ctx context.Context, r *retrytopics.Record, source *transform.Feature, marks retrytopics.Marks, denied error) (retrytopics.Result, error) {
	id := p.identity(source)
	id.Marks = marks
	if denied != nil {
		return retrytopics.Result{Identity: id}, denied
	}
	version, err := p.version(source)
	if err != nil {
		return retrytopics.Result{Identity: id}, err
	}
	closed := r.Judge(id.ContentHash, version)
	if closed != "" {
		stale, err := p.stale(ctx, r, closed, version, id.ContentHash)
		if err != nil {
			return retrytopics.Result{Identity: id, Version: version}, err
		}
		if !stale {
			return retrytopics.Result{Identity: id, Version: version, Close: closed}, nil
		}
	}
	target, value, err := p.transform(ctx, r, 0, source, id.ContentHash, func(*transform.Feature) error { return nil })
	if filtered, ok := errors.AsType[*transform.FilteredError](err); ok {
		return retrytopics.Result{Identity: id, Version: version, Close: policy.OutcomeFiltered, Note: filtered.Error()}, nil
	}
	if err != nil {
		return retrytopics.Result{Identity: id, Version: version}, err
	}
	id.FeatureID = target.IDString()
	result := p.result(id, r, value)
	result.Version = version
	made := Made{Record: r, Version: version, Parts: []Part{{Key: r.Key, Feature: target, Bytes: len(value), ContentHash: id.ContentHash}}}
	if err := p.reportMade(ctx, made, result.Outputs); err != nil {
		return retrytopics.Result{Identity: id, Version: version}, err
	}
	if closed != "" {
		result.Outputs, result.Close = nil, closed
	}
	return result, nil
}

// stale reports whether a closed record must be written again outside Kafka.
func (p *Pipeline) stale(ctx context.Context, r *retrytopics.Record, closed policy.Outcome, version *int64, contentHash string) (bool, error) {
	if p.hooks.Repeated == nil || closed != policy.OutcomeDuplicate {
		return false, nil
	}
	return p.hooks.Repeated(ctx, r, version, contentHash)
}

// reportMade calls the hook for the result of a record. It first refuses outputs that their topic would not accept: the hook
// may write the result elsewhere at once, although the record becomes a dead letter.
func (p *Pipeline) reportMade(ctx context.Context, m Made, outputs []*kgo.Record) error {
	if p.hooks.Made == nil {
		return nil
	}
	if err := m.Record.Fits(outputs...); err != nil {
		return err
	}
	return p.hooks.Made(ctx, m)
}

// transform maps one feature of a record; part is its number in the record, from 0. It calls take with the mapped
// feature before any hook.
func (p *Pipeline) transform(
	ctx context.Context, r *retrytopics.Record, part int, source *transform.Feature, contentHash string, take func(*transform.Feature) error,
) (*transform.Feature, []byte, error) {
	target, err := p.Map(ctx, source)
	if err == nil {
		err = take(target)
	}
	if err != nil {
		return nil, nil, err
	}
	if p.hooks.Read != nil {
		if err := p.hooks.Read(r, part, source); err != nil {
			return nil, nil, err
		}
	}
	again := part < r.Seen
	r.Seen = max(r.Seen, part+1)
	if err := p.hooks.Mapped(r, target, again); err != nil {
		return nil, nil, err
	}
	if err := p.steps.Apply(ctx, target, contentHash); err != nil {
		return nil, nil, err
	}
	if err := p.transformer.Validate(target); err != nil {
		return nil, nil, err
	}
	value, err := p.encoder.encode(ctx, target)
	return target, value, err
}

func (p *Pipeline) result(id retrytopics.Identity, r *retrytopics.Record, value []byte) retrytopics.Result {
	return retrytopics.Result{Identity: id, Outputs: []*kgo.Record{p.output(r, r.Key, value)}}
}

// output returns the output record of a record or of one of its features. own are additional headers of the feature.
func (m *Mapping) output(r *retrytopics.Record, key, value []byte, own ...kgo.RecordHeader) *kgo.Record {
	headers := m.encoder.headers(r.Headers, value)
	if len(own) > 0 {
		headers = slices.Concat(headers, own)
	}
	return &kgo.Record{Topic: m.cfg.Output.Topic, Key: key, Value: value, Headers: headers}
}

// delete returns a tombstone. Its content hash is the same in every format.
func (p *Pipeline) delete(r *retrytopics.Record, featureID string) retrytopics.Result {
	id := retrytopics.Identity{FeatureID: featureID, ContentHash: idempotency.Of(r.Key, nil).String()}
	result := p.result(id, r, nil)
	result.Delete = true
	return result
}
