package sink

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/config"
	"github.com/switchback-geo/switchback/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// VerifyOptions set the limits of a comparison and how records are read.
type VerifyOptions struct {
	Limit   int  // the most findings that are named, of each difference
	MaxKeys int  // the largest number of keys of the output topic; each takes about 80 bytes of memory
	Repair  bool // rewrite wrong rows
	// Read decodes the feature of an output record, or returns nil if its content must not be compared.
	Read func(ctx context.Context, value []byte) (*transform.Feature, error)
	// Finder maps record keys to rows.
	Finder Finder
}

// Defaults of VerifyOptions.
const (
	DefaultFindings     = 20
	DefaultVerifiedKeys = 10_000_000
)

// verifyBatch is how many rows are compared at once.
const verifyBatch = 500

// verification is one comparison of the table with the output topic.
type verification struct {
	cfg    *config.Config
	table  *Sink
	audit  *Audit
	o      VerifyOptions
	report *VerifyReport
	newest newestRecords
	batch  []*verifiedKey
	evict  []string
}

// verifiedKey is the newest record of a key, as a row.
type verifiedKey struct {
	row   *Row
	topic topicState
	at    string
}

// Verify compares the table with the output topic, key by key, and repairs differences if the options say so. The
// pipeline may run meanwhile.
//
//	output topic ──▶ newest record of each key ──▶ in batches, joined with the table ──▶ facts ──▶ difference of each key
//	                                                                 table ──▶ rows that no key has ──▶ difference
//
// The database itself compares a row with what the sink would write, so column types need no second implementation.
// Verify reads the topic before the table, and the pipeline writes the table before the topic: a table that is behind is
// wrong, and one that is ahead may be right. It needs memory for about 80 bytes per key of the output topic, and for one
// batch of features.
func Verify(ctx context.Context, client *kgo.Client, cfg *config.Config, o VerifyOptions) (report *VerifyReport, err error) {
	own, postgis := *cfg, *cfg.Sink.PostGIS
	postgis.MaxConnections = max(postgis.MaxConnections, 2) // the comparison keeps one connection for itself
	own.Sink.PostGIS = &postgis
	table, err := Open(&own, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer table.Close()
	topic := cfg.Output.Topic
	spans, err := kafka.DecidedSpans(ctx, client, topic)
	if err != nil {
		return nil, err
	}
	r := &verification{cfg: cfg, table: table, o: o, newest: newestRecords{places: map[keyHash]recordPosition{}, limit: o.MaxKeys}}
	r.report = &VerifyReport{Pipeline: cfg.Pipeline.ID, Table: cfg.Sink.PostGIS.Table, At: time.Now(), Found: map[Difference]int64{}}
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

// first stores the position of the newest record of each key.
func (r *verification) first(ctx context.Context, rec *kgo.Record) error {
	r.report.Records++
	key, _, err := r.o.Finder.Find(ctx, rec.Key, nil)
	if err != nil {
		return fmt.Errorf("output %s: %w", positionOf(rec), err)
	}
	return r.newest.take(key, rec)
}

// second compares the newest records.
func (r *verification) second(ctx context.Context, rec *kgo.Record) error {
	key, _, err := r.o.Finder.Find(ctx, rec.Key, nil)
	if err != nil || !r.newest.is(key, rec) {
		return err
	}
	return r.take(ctx, rec)
}

func positionOf(rec *kgo.Record) string {
	return header.Position{Topic: rec.Topic, Partition: rec.Partition, Offset: rec.Offset}.String()
}

// take adds the newest record of a key to the batch.
func (r *verification) take(ctx context.Context, rec *kgo.Record) error {
	at := positionOf(rec)
	it, err := r.item(ctx, rec)
	if err != nil {
		return fmt.Errorf("output %s: %w", at, err)
	}
	it.at = at
	r.report.Keys++
	if !it.topic.deletes {
		r.report.Live++
	}
	if r.batch = append(r.batch, it); len(r.batch) < verifyBatch {
		return nil
	}
	return r.flush(ctx)
}

func (r *verification) item(ctx context.Context, rec *kgo.Record) (*verifiedKey, error) {
	control, err := header.ParseControl(rec.Headers)
	if err != nil {
		return nil, err
	}
	if !control.HasSource {
		return nil, errors.New("the record has no header " + header.KeySource + ": the pipeline did not write it")
	}
	loose := r.cfg.Ordering.Mode == config.OrderingNone && r.cfg.Source.Version != ""
	it := &verifiedKey{topic: topicState{deletes: rec.Value == nil, loose: loose, source: control.Source, place: header.VersionPosition(control.Generation, control.Source.Offset)}}
	it.row = &Row{ContentHash: control.ContentHash, Source: control.Source.String(), Version: header.Version{Offset: it.topic.place}, Bytes: len(rec.Value)}
	if rec.Value != nil {
		if it.row.Feature, err = r.o.Read(ctx, rec.Value); err != nil {
			return nil, err
		}
	}
	it.row.Key, it.row.RowKey, err = r.o.Finder.Find(ctx, rec.Key, it.row.Feature)
	return it, err
}

// flush compares a batch and repairs its wrong rows.
func (r *verification) flush(ctx context.Context) error {
	batch := r.batch
	r.batch = nil
	if len(batch) == 0 {
		return nil
	}
	facts, err := r.check(ctx, batch)
	if err != nil {
		return err
	}
	var wrong []*verifiedKey
	for i, it := range batch {
		kind := differenceOf(it.topic, facts[i])
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

func (r *verification) check(ctx context.Context, items []*verifiedKey) ([]Fact, error) {
	rows := make([]*Row, len(items))
	for i, it := range items {
		rows[i] = it.row
	}
	return r.audit.Check(ctx, rows)
}

// note counts a finding and names the first ones of each difference.
func (r *verification) note(f Finding) {
	if r.report.Found[f.Kind]++; r.report.Found[f.Kind] <= int64(r.o.Limit) {
		r.report.Findings = append(r.report.Findings, f)
	}
}

// extras reports the rows that no key of the topic has.
func (r *verification) extras(ctx context.Context) (err error) {
	r.report.Rows, err = r.audit.Extras(ctx, func(x Extra) error {
		kind := DifferenceExtra
		if x.Known {
			kind = DifferenceUnknown
		}
		r.note(Finding{Kind: kind, Key: x.Key})
		if kind == DifferenceExtra && r.o.Repair && len(r.evict) < maxEvicted {
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

// maxEvicted limits the extra rows that one verification deletes. The next verification continues.
const maxEvicted = 100_000

// noteVersions is the note about keys whose version is not in the output topic.
const noteVersions = "rows without their versions (source.version) are not repaired: send or replay their events again"

// repairable sets the version under which a row is written again, and reports whether there is one. The event that the guard has keeps
// the guard's version, as after a crash. Another event has its position in the source as version, unless source.version is configured.
func (r *verification) repairable(it *verifiedKey, f Fact) bool {
	switch {
	case f.Known && f.Source == it.row.Source, f.Known && f.Same && f.Deleted == it.topic.deletes:
		it.row.Version, it.row.Source = f.Version, f.Source
	case r.cfg.Source.Version != "":
		r.once(noteVersions)
		return false
	default:
		it.row.Version = header.Version{Offset: it.topic.place}
	}
	return true
}

func (r *verification) once(note string) {
	if slices.Contains(r.report.Notes, note) {
		return
	}
	r.report.Notes = append(r.report.Notes, note)
}

// repair writes rows as the pipeline does: an older version never replaces a newer one. It counts the rows that are right afterwards.
func (r *verification) repair(ctx context.Context, wrong []*verifiedKey) error {
	if len(wrong) == 0 {
		return nil
	}
	var evict []string
	for _, it := range wrong {
		if it.topic.deletes && it.row.RowKey == nil {
			evict = append(evict, string(it.row.Key))
		}
	}
	if err := r.write(ctx, wrong); err != nil {
		return err
	}
	if len(evict) > 0 && r.cfg.Sink.Key == config.SinkKeyRecord { // rows that were written again after their delete
		if _, err := r.table.Evict(ctx, evict); err != nil {
			return err
		}
	}
	facts, err := r.check(ctx, wrong)
	if err != nil {
		return err
	}
	for i, it := range wrong {
		if kind := differenceOf(it.topic, facts[i]); kind == "" || kind == DifferenceAhead {
			r.report.Repaired++
		}
	}
	return nil
}

// write writes each row as a separate record. A row that the table refuses becomes a note; a database that is down is
// an error.
func (r *verification) write(ctx context.Context, wrong []*verifiedKey) error {
	errs := make([]error, len(wrong))
	var all sync.WaitGroup
	for i, it := range wrong {
		all.Go(func() { errs[i] = r.table.Write(ctx, []*Row{it.row}) })
	}
	all.Wait()
	for i, err := range errs {
		if _, down := errors.AsType[*retrytopics.UnavailableError](err); down || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if err != nil && len(r.report.Notes) < r.o.Limit {
			r.once(fmt.Sprintf("%q is not repaired: %v", wrong[i].row.Key, err))
		}
	}
	return nil
}

// ErrTooManyKeys is wrapped when the output topic has more keys than --max-keys allows in memory.
var ErrTooManyKeys = errors.New("more keys than fit into memory")

// keyHash identifies a record key in little memory.
type keyHash [16]byte

func hashKey(key []byte) (h keyHash) {
	sum := sha256.Sum256(key)
	copy(h[:], sum[:])
	return h
}

// recordPosition is the position of the newest record of a key.
type recordPosition struct {
	offset    int64
	millis    int64 // when it was written
	partition int32
}

func recordPositionOf(r *kgo.Record) recordPosition {
	return recordPosition{r.Offset, r.Timestamp.UnixMilli(), r.Partition}
}

// newestRecords has the position of the newest record of each key.
type newestRecords struct {
	places map[keyHash]recordPosition
	limit  int
}

// take stores the position of a record under the guard's name of its key. Records of one partition come in order. A key has records in
// several partitions after partitions were added; the record with the latest timestamp counts.
func (n *newestRecords) take(key []byte, r *kgo.Record) error {
	h, now := hashKey(key), recordPositionOf(r)
	before, known := n.places[h]
	if known && before.partition != now.partition && before.millis > now.millis {
		return nil
	}
	if !known && len(n.places) >= n.limit {
		return fmt.Errorf("topic %s: %w: --max-keys is %d", r.Topic, ErrTooManyKeys, n.limit)
	}
	n.places[h] = now
	return nil
}

// is reports whether a record is the newest of its key.
func (n *newestRecords) is(key []byte, r *kgo.Record) bool {
	return n.places[hashKey(key)] == recordPositionOf(r)
}
