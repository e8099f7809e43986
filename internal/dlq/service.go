package dlq

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/dlqindex"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/pkg/crs"
)

// Options is what a [Service] takes besides the pipeline's configuration.
type Options struct {
	replay.Options

	Topic string // DLQ of other software, instead of the pipeline's own; it has no status topic

	// Background leaves updates of the index to the caller, who calls [Service.Refresh]: questions then read it
	// unchanged.
	Background bool
}

// Service answers questions about one DLQ. It is safe for concurrent use.
type Service struct {
	cfg     *config.Config
	client  *kgo.Client // of letters
	admin   *kadm.Client
	letters *replay.Service // asks today's transform, and has the index
	index   *dlqindex.Index
	source  dlqindex.Source
	now     func() time.Time
	alone   bool
	foreign bool // the DLQ is not the pipeline's own

	background bool
	away       atomic.Bool // the last [Service.Refresh] failed
}

// Open connects to Kafka and opens the index. The caller must Close the service. The error is a
// *[kafka.UnreachableError] if no broker answers.
func Open(ctx context.Context, cfg *config.Config, o Options) (*Service, error) {
	foreign := o.Topic != "" && o.Topic != cfg.Topics.DLQ
	if foreign {
		other := *cfg
		other.Topics.DLQ = o.Topic
		cfg, o.Index.Foreign = &other, true
	}
	letters, err := replay.New(cfg, o.Options)
	if err != nil {
		return nil, err
	}
	client := letters.Client()
	s := &Service{cfg: cfg, client: client, admin: kadm.NewClient(client), letters: letters, now: o.Now, alone: o.Alone, foreign: foreign, background: o.Background}
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.connect(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// connect checks that the brokers answer, and opens the states and the index.
func (s *Service) connect(ctx context.Context) error {
	err := s.letters.Reachable(ctx)
	if err == nil {
		err = s.letters.OpenState(ctx)
	}
	if err != nil {
		return err
	}
	if s.index, err = s.letters.Index(ctx); err != nil {
		return err
	}
	s.source = s.index.Source()
	return nil
}

// Close ends the connections and closes the index.
func (s *Service) Close() { s.letters.Close() }

// Topic is the DLQ that the service answers about.
func (s *Service) Topic() string { return s.source.DLQ }

// lookTime is how long a broker may take to report whether the DLQ exists: without an answer, indexed dead letters
// can still be read.
const lookTime = time.Second

// Exists returns an error if a broker reports that there is no such DLQ. Without an answer it returns nil.
func (s *Service) Exists(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if _, err := kafka.Partitions(ctx, s.client, s.source.DLQ); errors.Is(err, kafka.ErrNoTopic) {
		return err
	}
	return nil
}

// Alone reports whether there is no pipeline: it is then unknown whether records flow.
func (s *Service) Alone() bool { return s.alone }

// Replays returns the service that puts dead letters back and changes them. It uses the same index.
func (s *Service) Replays() *replay.Service { return s.letters }

// Index returns the index that answers questions.
func (s *Service) Index() *dlqindex.Index { return s.index }

// dlq updates the index, unless the caller does (see [Options]), and returns the DLQ in it.
func (s *Service) dlq(ctx context.Context) (*dlqindex.DLQ, error) {
	if s.background {
		return s.index.DLQ(ctx)
	}
	return s.index.Fresh(ctx)
}

// Refresh updates the index of a background service (see [Options]). The error is a *[kafka.UnreachableError] if no
// broker answers. Until the next Refresh succeeds, retention and traffic are unknown, because questions send no
// request to the brokers.
func (s *Service) Refresh(ctx context.Context) (dlqindex.Synced, error) {
	var done dlqindex.Synced
	err := s.Reachable(ctx)
	if err == nil {
		done, err = s.index.Sync(ctx)
	}
	s.away.Store(err != nil)
	return done, err
}

// Reachable returns in one line why no broker answers, or nil.
func (s *Service) Reachable(ctx context.Context) error { return s.letters.Reachable(ctx) }

// PipelineEnds returns, for the status topic and the audit topic of the pipeline (or of the DLQ without one), the sum of the end offsets of its partitions.
func (s *Service) PipelineEnds(ctx context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	for _, topic := range []string{s.cfg.Topics.DLQStatus, s.cfg.Topics.Audit} {
		spans, err := kafka.Spans(ctx, s.client, topic)
		if s.alone && errors.Is(err, kafka.ErrNoTopic) {
			continue // it is created for the first change
		}
		if err != nil {
			return nil, err
		}
		for _, span := range spans {
			out[topic] += span.End
		}
	}
	return out, nil
}

// ask queries the index, which it updates first, unless the caller does (see [Options]).
func ask[T any](ctx context.Context, s *Service, question func(*dlqindex.DLQ) (T, error)) (answer T, err error) {
	d, err := s.dlq(ctx)
	if err != nil {
		return answer, err
	}
	return question(d)
}

// Page returns the dead letters of a query after a cursor, without their content (see [dlqindex.DLQ.Page]).
func (s *Service) Page(ctx context.Context, q dlqindex.Query, after *dlqindex.Cursor) (dlqindex.Page, error) {
	return ask(ctx, s, func(d *dlqindex.DLQ) (dlqindex.Page, error) { return d.Page(ctx, q, after) })
}

// Count returns how many dead letters a query selects, regardless of its limit.
func (s *Service) Count(ctx context.Context, q dlqindex.Query) (int, error) {
	return ask(ctx, s, func(d *dlqindex.DLQ) (int, error) { return d.Count(ctx, q) })
}

// ByState counts the selected dead letters by their status (see [dlqindex.DLQ.ByState]).
func (s *Service) ByState(ctx context.Context, q dlqindex.Query) (map[deadletters.Status]int, error) {
	return ask(ctx, s, func(d *dlqindex.DLQ) (map[deadletters.Status]int, error) { return d.ByState(ctx, q) })
}

// Cells counts the selected dead letters by the cells of a grid (see [dlqindex.DLQ.Cells]).
func (s *Service) Cells(ctx context.Context, q dlqindex.Query, columns, rows int) (dlqindex.Cells, error) {
	return ask(ctx, s, func(d *dlqindex.DLQ) (dlqindex.Cells, error) { return d.Cells(ctx, q, columns, rows) })
}

// Trend counts the selected dead letters that died last in each of some equal parts of a time, which begins at from.
func (s *Service) Trend(ctx context.Context, q dlqindex.Query, from time.Time, part time.Duration, parts int) ([]int, error) {
	return ask(ctx, s, func(d *dlqindex.DLQ) ([]int, error) { return d.Trend(ctx, q, from, part, parts) })
}

// Place converts coordinates to longitude and latitude. The error means that the system does not reach there.
type Place func(x, y float64) (lon, lat float64, err error)

// Degrees returns the conversion from the source's coordinates to longitude and latitude. It is nil if the coordinate
// system is unknown: without a pipeline, and for a DLQ that is not the pipeline's own. A change of datum is not visible
// on the map, so degrees stay as they are.
func (s *Service) Degrees() (Place, error) {
	if s.alone || s.foreign {
		return nil, nil
	}
	from, err := crs.Lookup(s.cfg.Transform.Geometry.SourceCRS)
	if err != nil {
		return nil, err
	}
	if from.Unit() == crs.Degree && from.AxisOrder() == crs.AxisXY {
		return AsDegrees, nil
	}
	to, err := crs.Lookup("OGC:CRS84")
	if err != nil {
		return nil, err
	}
	way, err := crs.NewTransform(from, to)
	if err != nil {
		return nil, err
	}
	return way.Forward, nil
}

// AsDegrees returns coordinates as longitude and latitude.
func AsDegrees(x, y float64) (lon, lat float64, err error) { return x, y, nil }
