package world

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/chaos/journal"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// operator replays dead letters as cmd/replayer does: it produces the record to its own partition of the source, with
// the headers of its dead letter, in a transaction.
type operator struct {
	w      *World
	writer *kgo.Client
	reader *kgo.Client

	// One command runs at a time: the one that has sent to the channel. A mutex would stop the clock of the bubble.
	busy    chan struct{}
	pending []*kgo.Record          // dead letters that were read and not replayed since, in the order of the log
	doubted map[string]*kgo.Record // by replay ID: dead letters whose replay may or may not have been committed
	back    map[string]*kgo.Record // by replay ID: reinjected dead letters
	replays int
}

// ForceVersion is the name of a replay that may overwrite newer data.
const ForceVersion = "force"

// lookFor is how long the operator waits for further dead letters.
const lookFor = 300 * time.Millisecond

func newOperator(w *World) (*operator, error) {
	o := &operator{w: w, busy: make(chan struct{}, 1), doubted: map[string]*kgo.Record{}, back: map[string]*kgo.Record{}}
	var err error
	if o.writer, err = o.newWriter(); err != nil {
		return nil, err
	}
	o.reader, err = w.Kafka.client(kgo.ConsumeTopics(DLQ), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(30*time.Second))
	return o, err
}

func (o *operator) newWriter() (*kgo.Client, error) {
	return o.w.Kafka.client(kgo.TransactionalID("operator"), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
}

func (o *operator) close() {
	o.writer.Close()
	o.reader.Close()
}

// Replay reinjects dead letters, the oldest first, up to a limit, and by force if requested. It returns their number.
func (w *World) Replay(limit int, force bool) int {
	o := w.operator
	o.busy <- struct{}{}
	defer func() { <-o.busy }()
	o.look()
	if err := o.decide(); err != nil {
		w.Tell("it is still in doubt which of %d dead letters went back: %v", len(o.doubted), err)
		return 0
	}
	limit = min(limit, len(o.pending))
	back := 0
	for _, letter := range o.pending[:limit] {
		if o.replay(letter, force) {
			back++
		}
	}
	o.pending = slices.Delete(o.pending, 0, limit)
	return back
}

// look reads the new records of the DLQ.
func (o *operator) look() {
	for {
		ctx, cancel := context.WithTimeout(o.w.ctx, lookFor)
		fetches := o.reader.PollFetches(ctx)
		cancel()
		letters := fetches.Records()
		if len(letters) == 0 {
			return
		}
		o.pending = append(o.pending, letters...)
	}
}

func (o *operator) replay(letter *kgo.Record, force bool) bool {
	o.replays++
	control, err := header.ParseControl(letter.Headers)
	if err != nil {
		o.w.Tell("the dead letter %s cannot be read: %v", topiclog.Position(letter), err)
		return false
	}
	back := header.Control{
		Source: control.Source, HasSource: control.HasSource, Generation: control.Generation, SourceTimestamp: control.SourceTimestamp,
		Lineage: control.Lineage, Care: control.Care, Sovereignty: control.Sovereignty,
		ReplayID: replayID(o.replays, int(o.w.Epoch())), ReplayCount: control.ReplayCount + 1, DeadLetterID: control.DeadLetterID,
		ContentHash: control.ContentHash, ForceVersion: force,
	}
	r := &kgo.Record{
		Topic: Source, Partition: letter.Partition, Key: letter.Key, Value: letter.Value,
		Headers: back.AppendTo(header.ProducerHeaders(letter.Headers)),
	}
	o.back[back.ReplayID] = letter
	if err := o.send(r); err != nil {
		o.w.Tell("the replay of %s is in doubt: %v", topiclog.Position(letter), err)
		o.doubted[back.ReplayID] = letter
		return false
	}
	return true
}

// decide finds out which doubtful replays were committed, like cmd/replayer after a restart: a new producer with the
// same transactional ID ends the transaction of the earlier one. Replays that were not committed are pending again.
func (o *operator) decide() error {
	if len(o.doubted) == 0 {
		return nil
	}
	writer, err := o.newWriter()
	if err != nil {
		return err
	}
	o.writer.Close()
	o.writer = writer
	ctx, cancel := context.WithTimeout(o.w.ctx, time.Minute)
	defer cancel()
	if _, _, err := o.writer.ProducerID(ctx); err != nil {
		return fmt.Errorf("fence the former producer: %w", err)
	}
	logs, err := o.w.read(ctx, []string{Source})
	if err != nil {
		return err
	}
	for _, r := range logs[Source] {
		id, _ := topiclog.Header(r, header.KeyReplayID)
		delete(o.doubted, id)
	}
	o.again(slices.Collect(maps.Values(o.doubted)))
	o.doubted = map[string]*kgo.Record{}
	return nil
}

// again makes dead letters pending again.
func (o *operator) again(letters []*kgo.Record) {
	o.pending = slices.Concat(letters, o.pending)
	slices.SortFunc(o.pending, func(a, b *kgo.Record) int {
		return cmp.Or(int(a.Partition-b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
}

// lost makes those dead letters pending again whose replays were deleted with the source before an engine read them.
func (o *operator) lost(ctx context.Context, source []*kgo.Record, epoch int64) error {
	logs, err := o.w.read(ctx, []string{Journal})
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, r := range logs[Journal] {
		if s, err := journal.Parse(r); err == nil {
			taken[s.Position] = true
		}
	}
	var letters []*kgo.Record
	for _, r := range source {
		id, _ := topiclog.Header(r, header.KeyReplayID)
		if letter := o.back[id]; letter != nil && !taken[topiclog.Position(placed(r, epoch))] {
			letters = append(letters, letter)
		}
	}
	o.again(letters)
	return nil
}

// send commits one record. It repeats only a transaction that was certainly aborted.
func (o *operator) send(r *kgo.Record) error {
	ctx, cancel := context.WithTimeout(o.w.ctx, time.Minute)
	defer cancel()
	if err := o.writer.BeginTransaction(); err != nil {
		return err
	}
	if err := o.writer.ProduceSync(ctx, r).FirstErr(); err != nil {
		return fmt.Errorf("%w (aborted: %w)", err, o.writer.EndTransaction(ctx, kgo.TryAbort))
	}
	return o.writer.EndTransaction(ctx, kgo.TryCommit)
}
