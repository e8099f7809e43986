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

// Pipeline does the work of one configuration. Its methods are safe for concurrent use.
type Pipeline struct {
	*Mapping
	steps *enrich.Steps
	hooks Hooks

	classify func(error) classify.Failure
}

// Hooks let the owner of a pipeline see what passes.
type Hooks struct {
	// Read is told each feature of the source that can be mapped, and which part of its record it is, from 0. An error is the
	// outcome of the attempt. Nil for nobody.
	Read func(r *retrytopics.Record, part int, source *transform.Feature) error
	// Mapped is told each feature that was mapped, before remote steps, and each delete, whose target is nil. An attempt that
	// counted for nothing, as one that met an open breaker, is made again, and its features are told again. An error is the
	// outcome of the attempt. It is called from many goroutines. Nil for nobody.
	Mapped func(r *retrytopics.Record, target *transform.Feature, again bool) error
	// Repeated is asked whether a duplicate has to be made all the same, for what is not Kafka: then Made is told it, and nothing
	// goes into the output. An error is the outcome of the attempt. Nil for nobody. Collections that are split are not asked about.
	Repeated func(ctx context.Context, r *retrytopics.Record, version *int64, contentHash string) (stale bool, err error)
	// Made is told what a record becomes, when nothing is left to do but to hand it to the engine. An error is the outcome of
	// the attempt. Nil for nobody.
	Made func(ctx context.Context, m Made) error
}

// Made is what a record becomes.
type Made struct {
	Record  *retrytopics.Record
	Version *int64 // see retrytopics.Result
	Delete  bool
	Parts   []Part // one for each output
}

// Part is what one output says.
type Part struct {
	Key         []byte
	Feature     *transform.Feature // nil for a delete
	Bytes       int                // of the output
	ContentHash string

	index    int // of the feature in its collection
	identity retrytopics.Identity
}

// New compiles the configuration. The logger, which may be nil, hears when a remote step's circuit breaker opens and closes.
func New(cfg *config.Config, logger *slog.Logger) (*Pipeline, error) {
	mapping, err := NewMapping(cfg)
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

// Observe sets the hooks. It must come before the first record.
func (p *Pipeline) Observe(h Hooks) {
	if h.Mapped == nil {
		h.Mapped = p.hooks.Mapped
	}
	p.hooks = h
}

// Watch takes up reference sets that change, logs it and tells it, until the context ends. It looks at their files at an
// interval; 0 is the default.
func (p *Pipeline) Watch(ctx context.Context, interval time.Duration, log *slog.Logger, named func(error) error, changed func(context.Context)) {
	p.sets.Watch(ctx, cmp.Or(interval, refdata.DefaultInterval), func(r refdata.Reload) {
		if r.Err != nil {
			log.WarnContext(ctx, "reference set: what cannot be read leaves it as it was", "set", r.Name, "from", r.From, "error", named(r.Err))
			return
		}
		log.InfoContext(ctx, "reference set changed", "set", r.Name, "from", r.From, "keys", r.Keys)
		changed(ctx)
	})
}

// Retune takes up the rates and breakers of the remote steps of another configuration, see [enrich.Steps.Retune].
func (p *Pipeline) Retune(cfg *config.Config) { p.steps.Retune(cfg.Enrich) }

// Providers gives a snapshot of who the remote steps ask: circuit breakers, rate limits, outcomes.
func (p *Pipeline) Providers() []enrich.Status { return p.steps.Status() }

// Close frees the connections of the remote steps.
func (p *Pipeline) Close() { p.steps.Close() }

// Handle maps one record. A delete needs no transform: whatever its format, it becomes a tombstone.
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
		if err := p.made(ctx, made, result.Outputs); err != nil {
			return retrytopics.Result{Identity: result.Identity, Delete: true}, err
		}
		return result, nil
	}
	if content.Features != nil {
		return p.split(ctx, r, &content, marks, denied)
	}
	source := content.Feature
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
	if err := p.made(ctx, made, result.Outputs); err != nil {
		return retrytopics.Result{Identity: id, Version: version}, err
	}
	if closed != "" {
		result.Outputs, result.Close = nil, closed
	}
	return result, nil
}

// stale says whether what is closed has to be made all the same.
func (p *Pipeline) stale(ctx context.Context, r *retrytopics.Record, closed policy.Outcome, version *int64, contentHash string) (bool, error) {
	if p.hooks.Repeated == nil || closed != policy.OutcomeDuplicate {
		return false, nil
	}
	return p.hooks.Repeated(ctx, r, version, contentHash)
}

// made tells what a record becomes. Outputs that their topic does not take are refused before that: what is told may be written
// elsewhere at once, and the record will be a dead letter.
func (p *Pipeline) made(ctx context.Context, m Made, outputs []*kgo.Record) error {
	if p.hooks.Made == nil {
		return nil
	}
	if err := m.Record.Fits(outputs...); err != nil {
		return err
	}
	return p.hooks.Made(ctx, m)
}

// transform maps one feature of a record, which is its part with the number given, from 0. take is asked as soon as it is
// mapped, before anybody else is.
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

// output is the output of a record, or of one of its features, with the headers that the feature has of its own.
func (m *Mapping) output(r *retrytopics.Record, key, value []byte, own ...kgo.RecordHeader) *kgo.Record {
	headers := m.encoder.headers(r.Headers, value)
	if len(own) > 0 {
		headers = slices.Concat(headers, own)
	}
	return &kgo.Record{Topic: m.cfg.Output.Topic, Key: key, Value: value, Headers: headers}
}

// delete gives a tombstone. Its content hash is the same in every format.
func (p *Pipeline) delete(r *retrytopics.Record, featureID string) retrytopics.Result {
	id := retrytopics.Identity{FeatureID: featureID, ContentHash: idempotency.Of(r.Key, nil).String()}
	result := p.result(id, r, nil)
	result.Delete = true
	return result
}
