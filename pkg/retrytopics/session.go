package retrytopics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	maxPoll   = 10000                  // records a poll may return
	minPoll   = 100                    // a poll that must go on takes so many
	maxIdle   = 100 * time.Millisecond // a poll returns after it, so that housekeeping happens
	lazyAfter = 200 * time.Millisecond // a position that moved without results is committed after it
)

// session is one client's life: one group member and one transactional producer. What goes wrong beyond repair ends the
// session; Run starts another.
type session struct {
	e      *Engine
	link   link
	adm    *kadm.Client
	layout *layout
	sched  *scheduler

	base     context.Context // of all handlers: it ends with the session
	stopWork context.CancelFunc

	mu         sync.Mutex // guards what follows against the group's callbacks
	lanes      map[topicPartition]*lane
	shards     map[int32]*shard
	assigned   map[string][]int32 // by the group's leader
	rebalanced bool               // since the last turn
	fatal      error

	refused  map[Position]error // records whose output the broker will never take
	lazy     bool               // a position has moved without a result
	lastDone time.Time          // of the last transaction
	wake     chan struct{}      // ends a poll
}

func (e *Engine) newSession(ctx context.Context) (*session, error) {
	s := &session{
		e: e, lanes: map[topicPartition]*lane{}, shards: map[int32]*shard{}, refused: map[Position]error{},
		wake: make(chan struct{}, 1),
	}
	s.base, s.stopWork = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	if s.adm, err = e.admin(); err != nil {
		return nil, err
	}
	if s.layout, err = e.inspect(ctx, s.adm); err != nil {
		s.adm.Close()
		return nil, err
	}
	s.sched = newScheduler(e.cfg.CommitInterval, maxAhead(s.layout.maxMetadata), func() {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	})
	if s.link, err = s.connect(ctx); err != nil {
		s.adm.Close()
		return nil, fmt.Errorf("new group member: %w", err)
	}
	return s, nil
}

func (s *session) connect(ctx context.Context) (link, error) {
	cfg := &s.e.cfg
	if cfg.Delivery == AtLeastOnce {
		client, err := kgo.NewClient(append(s.options(), kgo.DisableAutoCommit())...)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errOptions, err)
		}
		return plain{client}, nil
	}
	session, err := kgo.NewGroupTransactSession(append(s.options(),
		kgo.TransactionalID(cfg.transactionalID()),
		kgo.TransactionTimeout(cfg.TransactionTimeout),
		kgo.ConcurrentTransactionsBackoff(2*time.Millisecond), // the default of 20 ms costs most of a small transaction
	)...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errOptions, err)
	}
	// Taking the transactional id now ends a predecessor's open transaction at once; the offsets in it could not be read
	// before its timeout otherwise.
	bounded, cancel := context.WithTimeout(ctx, 2*cfg.TransactionTimeout)
	defer cancel()
	if _, _, err := session.Client().ProducerID(bounded); err != nil {
		session.Close()
		return nil, fmt.Errorf("take transactional id %s: %w", cfg.transactionalID(), err)
	}
	return transactional{session}, nil
}

func (s *session) options() []kgo.Opt {
	cfg := &s.e.cfg
	topics := s.e.topics()
	// The client fetches anew only when all that it has fetched is taken, so one fetch must not hold so much of the source
	// that what waits in the tiers is overdue before it is seen.
	opts := append([]kgo.Opt{kgo.FetchMaxPartitionBytes(256 << 10), kgo.FetchMaxBytes(8 << 20)}, s.e.clientOptions()...)
	if cfg.Static {
		opts = append(opts, kgo.InstanceID(cfg.Instance))
	}
	return append(opts,
		kgo.ConsumerGroup(cfg.Group),
		kgo.ConsumeTopics(topics[:len(topics)-1]...), // source and tiers
		kgo.Balancers(shardBalancer{cfg.Source, s.onAssignment}),
		kgo.SessionTimeout(cfg.SessionTimeout),
		kgo.HeartbeatInterval(min(3*time.Second, cfg.SessionTimeout/3)),
		kgo.RecordPartitioner(newPartitioner(cfg)),
		kgo.ProducerBatchMaxBytesFn(s.layout.limit),
		kgo.ProducerLinger(5*time.Millisecond),
		kgo.MaxBufferedRecords(1<<20), // a transaction is produced in one go; its size is bounded by what lanes hold
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(250*time.Millisecond), // a resumed partition waits for the fetch in flight
		kgo.KeepControlRecords(),               // so that positions reach the end of topics that transactions write
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), // a position that is gone: take all that is left, skip nothing
		kgo.BlockRebalanceOnPoll(),                        // what a poll returns belongs to the assignment until AllowRebalance
		kgo.OnOffsetsFetched(s.onOffsets),
		kgo.OnPartitionsRevoked(s.onGone),
		kgo.OnPartitionsLost(s.onGone),
	)
}

// onOffsets starts lanes from what the group has truly committed, never from the first record that a poll returns.
func (s *session) onOffsets(_ context.Context, _ *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rebalanced = true
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			name := t.Topic
			if name == "" {
				name = s.layout.names[t.TopicID]
			}
			for _, p := range t.Partitions {
				s.forget(func(tp topicPartition) bool { return tp == topicPartition{name, p.Partition} })
				if err := s.assign(topicPartition{name, p.Partition}, &p); err != nil {
					s.fatal = err
					return err
				}
			}
		}
	}
	return nil
}

// assign starts one lane. The mutex is held.
func (s *session) assign(tp topicPartition, p *kmsg.OffsetFetchResponseGroupTopicPartition) error {
	tier, ours := s.e.tierOf(tp.topic)
	if !ours || p.ErrorCode != 0 {
		return nil
	}
	committed := mark{offset: -1}
	if p.Offset >= 0 {
		committed.offset = p.Offset
		if p.Metadata != nil {
			committed.metadata = *p.Metadata
		}
	}
	return s.start(tp, tier, committed)
}

// start puts a new lane in its place. The mutex is held.
func (s *session) start(tp topicPartition, tier int, committed mark) error {
	sh := s.shards[tp.partition]
	if sh == nil {
		sh = newShard(tp.partition, s.e.cfg.Dedupe)
	}
	l, err := newLane(s.base, tp, tier, sh, committed)
	if err != nil {
		return err
	}
	s.shards[tp.partition] = sh
	s.lanes[tp] = l
	return nil
}

// onGone drops the lanes that another member gets now. All lanes of a partition go together.
func (s *session) onGone(_ context.Context, client *kgo.Client, gone map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rebalanced = true
	client.ResumeFetchPartitions(gone) // a pause would outlive the assignment
	s.forget(func(tp topicPartition) bool { return slices.Contains(gone[tp.topic], tp.partition) })
}

// forget drops the lanes that are meant, and the memory of their shards. The mutex is held.
func (s *session) forget(meant func(topicPartition) bool) {
	var dropped []*lane
	for tp, l := range s.lanes {
		if meant(tp) {
			dropped = append(dropped, l)
			delete(s.lanes, tp)
			if s.shards[tp.partition] == l.shard {
				delete(s.shards, tp.partition)
			}
		}
	}
	s.sched.drop(dropped)
}

// reconcile drops the lanes that the client does not own any more. The transaction session tells only the first of
// several revocations between two transactions: without this, an instance would commit for a partition, and keep the
// memory of a shard, that has had another owner meanwhile. Rebalances wait while it runs.
func (s *session) reconcile() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(func(tp topicPartition) bool { return !slices.Contains(s.assigned[tp.topic], tp.partition) })
}

// onAssignment notes what the leader of the group assigned to this instance.
func (s *session) onAssignment(assigned map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.assigned, s.rebalanced = assigned, true
}

// run works until the context ends or the session is beyond repair. When it returns without an error, all finished work
// is committed and the group is left.
func (s *session) run(ctx context.Context) error {
	defer s.adm.Close()
	defer s.link.close()
	var workers sync.WaitGroup
	defer workers.Wait()
	defer s.abandon()
	for range s.e.cfg.Concurrency {
		workers.Go(s.labour)
	}
	housekeeping, stop := context.WithCancel(ctx)
	defer stop()
	workers.Go(func() { s.keepHouse(housekeeping) })
	for ctx.Err() == nil {
		if err := s.turn(ctx); err != nil {
			return err
		}
	}
	return s.finish(ctx)
}

func (s *session) abandon() {
	s.stopWork()
	s.sched.close()
}

func (s *session) labour() {
	for t := s.sched.next(); t != nil; {
		switch held, undone := s.e.attempt(t.lane.ctx, t); {
		case held != nil:
			s.sched.hold(t, held)
			t = s.sched.next()
		case undone:
			s.sched.putBack(t)
			t = s.sched.next()
		default:
			t = s.sched.exchange(t)
		}
	}
}

// turn polls once, hands out what came, and commits what has finished. Rebalances wait meanwhile.
func (s *session) turn(ctx context.Context) error {
	fetches := s.poll(ctx)
	defer s.link.client().AllowRebalance()
	if err := s.failed(fetches); err != nil {
		return err
	}
	if again, err := s.settle(ctx); again || err != nil {
		return err
	}
	if err := s.accept(fetches); err != nil {
		return err
	}
	ripe, some := s.sched.pending()
	if ripe || (!some && s.lazy && time.Since(s.lastDone) > lazyAfter) {
		return s.commit(ctx)
	}
	return nil
}

// poll waits for records, but not longer than for results that want to be committed. However it ends, the client blocks
// rebalances from then on until AllowRebalance.
func (s *session) poll(ctx context.Context) kgo.Fetches {
	ripe, _ := s.sched.pending()
	if s.e.Standstill() != "" {
		return s.idle(ctx, ripe)
	}
	room := s.room()
	if room == 0 && (ripe || s.awaitResults(ctx)) {
		return s.pollNothing(ctx)
	}
	if room == 0 {
		room = s.relieve()
	}
	wait := maxIdle
	if ripe {
		wait = time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	polled := make(chan struct{})
	defer close(polled)
	go func() {
		select {
		case <-s.wake:
			cancel()
		case <-polled:
		}
	}()
	return s.link.client().PollRecords(ctx, room)
}

// pollNothing only blocks rebalances.
func (s *session) pollNothing(ctx context.Context) kgo.Fetches {
	over, cancel := context.WithCancel(ctx)
	cancel()
	return s.link.client().PollRecords(over, 1)
}

// failed gives the first error of the fetches that a new session might mend, or that must end the engine.
func (s *session) failed(fetches kgo.Fetches) error {
	s.mu.Lock()
	fatal := s.fatal
	s.mu.Unlock()
	if fatal != nil {
		return fatal
	}
	for _, fe := range fetches.Errors() {
		var loss *kgo.ErrDataLoss
		switch {
		case errors.Is(fe.Err, context.Canceled), errors.Is(fe.Err, context.DeadlineExceeded):
		case errors.As(fe.Err, &loss):
			s.e.cfg.Logger.Error("the broker lost records", "topic", fe.Topic, "partition", fe.Partition, "error", fe.Err)
		case kerr.IsRetriable(fe.Err):
			s.e.cfg.Logger.Warn("fetch failed, will be tried again", "topic", fe.Topic, "partition", fe.Partition, "error", fe.Err)
		default:
			return fmt.Errorf("fetch %s partition %d: %w", fe.Topic, fe.Partition, fe.Err)
		}
	}
	return nil
}

// settle clears the client's memory of a rebalance, which would otherwise abort the first transaction after it, and
// restores what new shards must know. again means that the fetches at hand are void.
func (s *session) settle(ctx context.Context) (again bool, err error) {
	s.mu.Lock()
	rebalanced := s.rebalanced
	s.rebalanced = false
	s.mu.Unlock()
	if !rebalanced {
		return false, nil
	}
	if err := s.link.clear(context.WithoutCancel(ctx)); err != nil {
		return false, fmt.Errorf("clear transaction: %w", err)
	}
	s.reconcile()
	// The client has gone back to what it takes for committed. Lanes that stayed go on where they were.
	s.seek((*lane).taken)
	return true, s.restore(ctx)
}

// seek makes the broker send on from the given offset of each lane.
func (s *session) seek(at func(*lane) int64) {
	s.mu.Lock()
	offsets := map[string]map[int32]kgo.EpochOffset{}
	for tp, l := range s.lanes {
		if offsets[tp.topic] == nil {
			offsets[tp.topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[tp.topic][tp.partition] = from(at(l))
	}
	s.mu.Unlock()
	s.link.client().SetOffsets(offsets)
}

// rewind forgets all that was done since the last commit: it is taken from the broker again.
func (s *session) rewind() error {
	if err := s.renew(); err != nil {
		return err
	}
	s.seek((*lane).taken)
	return nil
}

// renew replaces every lane by one that starts from what is committed.
func (s *session) renew() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := slices.Collect(maps.Values(s.lanes))
	s.sched.drop(old)
	for p, sh := range s.shards {
		s.shards[p] = sh.successor()
	}
	resume := map[string][]int32{}
	for _, l := range old {
		resume[l.topic] = append(resume[l.topic], l.partition)
		if err := s.start(l.topicPartition, l.tier, l.committed); err != nil {
			return err
		}
	}
	s.lazy = false
	s.link.client().ResumeFetchPartitions(resume)
	return nil
}
