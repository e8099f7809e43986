package dlqindex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/kafka"
)

// maxPasses bounds how often a sync starts again because another process moved the positions.
const maxPasses = 200

// Source names what is indexed.
type Source struct {
	DLQ    string // topic
	Status string // topic with the states; empty for a DLQ of other software, whose letters are all pending

	// States is read in place of the status topic; nil reads the cluster. StatesID identifies it.
	States   kafka.Log
	StatesID string

	// Reading is how the records of the DLQ become letters. An index that was filled in another way is filled again.
	deadletters.Reading

	MaxReplays int // from which a letter that failed again in other software is escalated; defaults to 3
}

// states returns where the states are read from.
func (s *Source) states(cl *kgo.Client) kafka.Log {
	if s.States != nil {
		return s.States
	}
	return kafka.Cluster{Client: cl}
}

// read returns the settings that the letters in the index depend on, as text.
func (s *Source) read() string {
	text := ""
	if s.Dialect != "" {
		text = " " + string(s.Dialect)
	}
	if s.Alone { // a pipeline's own index of the same topic has other contents
		text += " without a pipeline"
	}
	if s.MaxValue > kafka.MaxValue {
		text += " max_value=" + strconv.Itoa(s.MaxValue)
	}
	return text
}

func (s *Source) maxReplays() int { return cmp.Or(s.MaxReplays, 3) }

// Progress is how far a sync has come.
type Progress struct {
	Topic         string
	Done, Total   int64  // offsets of all topics
	RebuildReason string // why the sync starts from the beginning again; empty if it does not, or if the index was empty
}

// Synced is the result of a sync.
type Synced struct {
	Letters       int           `json:"dead_letters"`             // records of the DLQ that were indexed
	States        int           `json:"states"`                   // records of the status topic that were indexed
	Gone          int           `json:"gone"`                     // letters whose records retention has deleted since the last sync
	Expired       int           `json:"-"`                        // letters that were deleted: gone, and resolved long ago
	RebuildReason string        `json:"rebuild_reason,omitempty"` // why the index was filled from the start; empty if it was not
	Took          time.Duration `json:"-"`

	Offsets map[string]int64 `json:"-"` // by topic: the sum over its partitions of the offsets up to which it is indexed
}

// wasEmpty is the reason to fill an index that has nothing of the DLQ.
const wasEmpty = "it was empty"

// errMoved marks positions that another process has moved. The sync continues from them.
var errMoved = errors.New("another process moved the index on")

// Sync reads both topics from the stored positions to their present ends. Several processes may sync at once: each record
// is indexed once.
//
// Sync looks up the end of the status topic first, and reads the letters first, so that each state finds its letter.
func (x *Index) Sync(ctx context.Context) (Synced, error) {
	started := time.Now()
	y := &syncer{Index: x}
	if err := y.look(ctx); err != nil {
		return Synced{}, err
	}
	var err error
	if y.session, err = x.database.session(ctx); err != nil {
		return Synced{}, wrapped("index "+x.source.DLQ, err)
	}
	defer y.session.close()
	y.session.topic, y.session.maxReplays = x.source.DLQ, x.source.maxReplays()
	for range maxPasses {
		err := y.pass(ctx)
		if errors.Is(err, errMoved) {
			continue
		}
		y.done.Took = time.Since(started)
		return y.done, damage(x.place, wrapped("index "+x.source.DLQ, err))
	}
	return y.done, fmt.Errorf("index %s: %w more than %d times; try again", x.source.DLQ, errMoved, maxPasses)
}

func wrapped(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// syncer is one run of Sync.
type syncer struct {
	*Index
	session *session

	facts       facts
	dlq         int64
	done        Synced
	read, total int64
}

// facts are the IDs and offsets of the topics.
type facts struct {
	topicID, statusID string
	letters, states   map[int32]kafka.Span
}

// look asks the cluster for IDs and offsets, for the ends of the status topic first (see Sync).
func (y *syncer) look(ctx context.Context) error {
	admin := kadm.NewClient(y.client)
	topics := []string{y.source.DLQ}
	if y.source.Status != "" && y.source.States == nil {
		topics = append(topics, y.source.Status)
	}
	meta, err := admin.Metadata(ctx, topics...)
	if err != nil {
		return fmt.Errorf("look up topics %v: %w", topics, kafka.DeniedTopics("Describe", topics, err, func(name string) error {
			_, err := admin.ListTopics(ctx, name)
			return err
		}))
	}
	y.facts.topicID = meta.Topics[y.source.DLQ].ID.String() + y.source.read()
	if y.source.Status != "" {
		if y.facts.statusID = y.source.StatesID; y.source.States == nil {
			y.facts.statusID = meta.Topics[y.source.Status].ID.String()
		}
		if y.facts.states, err = y.source.states(y.client).Spans(ctx, y.source.Status); err != nil {
			return err
		}
	}
	y.facts.letters, err = kafka.Spans(ctx, y.client, y.source.DLQ)
	return err
}

// pass reads both topics once.
func (y *syncer) pass(ctx context.Context) error {
	var err error
	var reason string
	if y.dlq, reason, err = y.session.enter(ctx, y.cluster, y.source, y.facts); err != nil {
		return err
	}
	var positions map[partition]position
	err = y.session.run(ctx, y.session.engine.snapshot(), func(tx *tx) (err error) {
		positions, err = tx.positions(y.dlq)
		return err
	})
	if err != nil {
		return err
	}
	if why := y.shrunk(positions); why != "" {
		if err := y.session.forget(ctx, y.dlq); err != nil {
			return err
		}
		reason, positions = why, map[partition]position{}
	}
	if reason == wasEmpty && y.remade != "" {
		reason = y.remade
	}
	if reason != "" {
		y.done.RebuildReason = reason
	}
	y.measure(positions)
	if err := y.both(ctx, positions); err != nil {
		return err
	}
	if err := y.analyse(ctx); err != nil {
		return err
	}
	if err := y.expire(ctx); err != nil {
		return err
	}
	y.done.Offsets = y.ends()
	return y.session.touch(ctx, y.dlq)
}

// expire deletes letters that the topic no longer has and that were resolved long ago (S4-7). The tombstone in the status
// topic deletes them too, but compaction removes it after a day.
func (y *syncer) expire(ctx context.Context) error {
	return y.session.inTx(ctx, func(tx *tx) (err error) {
		y.done.Expired, err = tx.expire(y.dlq, y.options.Now().Add(-y.keep))
		return err
	})
}

// ends returns the sum of the end offsets of each topic.
func (y *syncer) ends() map[string]int64 {
	out := map[string]int64{}
	for topic, spans := range y.topics() {
		for _, span := range spans {
			out[topic] += span.End
		}
	}
	return out
}

// manyRecords is from how many new records on the tables are analysed for the query planner.
const manyRecords = 10_000

// analyse counts the rows for the query planner. PostgreSQL does so by itself, but later. SQLite looks
// only at tables that have grown much, and at some of their rows.
func (y *syncer) analyse(ctx context.Context) error {
	if y.total == 0 || y.total < manyRecords && y.session.engine == PostgreSQL {
		return nil
	}
	statements := []string{"PRAGMA optimize = 0x10012"}
	if y.session.engine == PostgreSQL {
		statements = []string{"ANALYZE @dead_letter_queue", "ANALYZE @dead_letter_count"}
	}
	return y.session.inTx(ctx, func(tx *tx) error {
		for _, statement := range statements {
			if err := tx.exec(statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// both indexes the letters, then the states.
func (y *syncer) both(ctx context.Context, positions map[partition]position) error {
	for _, p := range slices.Sorted(maps.Keys(y.facts.letters)) {
		if err := y.letters(ctx, p, positions); err != nil {
			return err
		}
	}
	for _, p := range slices.Sorted(maps.Keys(y.facts.states)) {
		if err := y.states(ctx, p, positions); err != nil {
			return err
		}
	}
	return nil
}

// shrunk returns why the positions are not valid any more: the topic ends before them. Empty if they are valid.
func (y *syncer) shrunk(positions map[partition]position) string {
	for topic, spans := range y.topics() {
		for p, span := range spans {
			if at, ok := positions[partition{topic, p}]; ok && at.next > span.End {
				return fmt.Sprintf("%s/%d ends at offset %d, before what was read (%d)", topic, p, span.End, at.next)
			}
		}
	}
	return ""
}

func (y *syncer) topics() map[string]map[int32]kafka.Span {
	topics := map[string]map[int32]kafka.Span{y.source.DLQ: y.facts.letters}
	if y.source.Status != "" {
		topics[y.source.Status] = y.facts.states
	}
	return topics
}

// measure counts the offsets that are to be read.
func (y *syncer) measure(positions map[partition]position) {
	y.read, y.total = 0, 0
	for topic, spans := range y.topics() {
		for p, span := range spans {
			y.total += max(span.End-max(positions[partition{topic, p}].next, span.Start), 0)
		}
	}
}

func (y *syncer) advance(topic string, by int64) {
	y.read += by
	if y.options.Progress != nil {
		p := Progress{Topic: topic, Done: min(y.read, y.total), Total: y.total}
		if y.done.RebuildReason != wasEmpty {
			p.RebuildReason = y.done.RebuildReason
		}
		y.options.Progress(p)
	}
}

// letters indexes one partition of the DLQ, and marks the letters that retention deleted there.
func (y *syncer) letters(ctx context.Context, p int32, positions map[partition]position) error {
	of, span := partition{y.source.DLQ, p}, y.facts.letters[p]
	made := entries{engine: y.session.engine, dlq: y.dlq, columns: writtenColumns()}
	put := func(tx *tx, letters []entry) error { return tx.putLetters(y.dlq, letters) }
	if err := follow(ctx, y, of, positions[of].next, span, y.scanLetters(&made), put, &y.done.Letters); err != nil {
		return err
	}
	if span.Start <= positions[of].start {
		return nil
	}
	return y.session.inTx(ctx, func(tx *tx) error {
		gone, err := tx.markGone(y.dlq, of, span.Start)
		y.done.Gone += gone
		return err
	})
}

// states indexes one partition of the status topic.
func (y *syncer) states(ctx context.Context, p int32, positions map[partition]position) error {
	of := partition{y.source.Status, p}
	put := func(tx *tx, changes []change) error { return tx.putStates(y.dlq, changes) }
	return follow(ctx, y, of, positions[of].next, y.facts.states[p], y.scanStates, put, &y.done.States)
}

// scanLetters reads letters and makes entries of them.
func (y *syncer) scanLetters(made *entries) scan[entry] {
	return func(ctx context.Context, of partition, span kafka.Span, fn func(entry, int64, int) error) error {
		return y.source.Letters(ctx, y.client, of.topic, map[int32]kafka.Span{of.number: span}, func(l *deadletters.Letter) error {
			e, bytes := made.of(l)
			return fn(e, l.Last+1, bytes)
		})
	}
}

func (y *syncer) scanStates(ctx context.Context, of partition, span kafka.Span, fn func(change, int64, int) error) error {
	return deadletters.ScanStates(ctx, y.source.states(y.client), of.topic, map[int32]kafka.Span{of.number: span}, func(r *deadletters.StateRecord) error {
		c := readChange(r)
		return fn(c, r.At.Offset+1, len(c.state.Reason)+len(c.id)+len(c.problem))
	})
}
