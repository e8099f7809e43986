package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/recordbatch"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/attempt"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/instance"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/schedule"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
)

const (
	maxPoll   = 10000                  // records a poll may return
	minPoll   = 100                    // least size of a poll that must continue
	maxIdle   = 100 * time.Millisecond // a poll returns after it, so that housekeeping happens
	lazyAfter = 200 * time.Millisecond // a position that moved without results is committed after it
)

// Bounds of memory, in bytes.
const (
	// largeRoom is how much larger than the largest source record an output or a kept record may be: for headers, and
	// additions by the mapping.
	largeRoom = 16 << 20
)

// Session runs one client: one group member and one transactional producer. An error that it cannot repair ends the
// session; the engine starts another one.
type Session struct {
	in        *instance.Instance
	Committer kafka.Committer
	member    kafka.Member
	adm       *kadm.Client
	layout    *topics.Layout
	Sched     *schedule.Scheduler
	workers   []*attempt.Worker
	callers   attempt.Callers // of the workers

	base     context.Context // of all handlers: it ends with the session
	stopWork context.CancelFunc

	mu            sync.Mutex // guards the following fields against the group's callbacks
	partitions    map[partition.ID]*partition.Partition
	states        map[int32]*partition.State
	assigned      map[string][]int32 // by the group's leader
	rebalanced    bool               // since the last turn
	settling      bool               // the turn after a rebalance has not yet restored the state of its partitions
	hasAssignment bool               // the group has assigned partitions to this instance, and they were not lost since
	fatal         error

	aborted   []*partition.Task // of an aborted transaction: finished, and not committed
	abortedAt time.Time         // of the first such transaction since the last commit; zero if there was none

	budget      *recordbatch.Budget // of what the client decompresses
	partitioner *kafka.Partitioner
	seeks       int32                        // number of calls of seek
	refused     map[header.Position]*refused // records that a broker will never accept in their former form
	suspects    map[*kgo.Record]bool         // records that the broker refused together with others
	losses      []retrytopics.Loss           // not in a committed transaction yet
	arrived     []schedule.Record            // of a poll; kept to reuse its memory
	lazy        bool                         // a position has moved without a result
	lastDone    time.Time                    // of the last transaction
	wake        chan struct{}                // ends a poll

	readsSince time.Time // since when it polls without a pause and without an error; zero if it does not
}

// offline returns a session without a client.
func offline(ctx context.Context, in *instance.Instance, maxMetadata int) *Session {
	s := &Session{
		in: in, partitions: map[partition.ID]*partition.Partition{}, states: map[int32]*partition.State{}, refused: map[header.Position]*refused{}, suspects: map[*kgo.Record]bool{},
		budget: recordbatch.NewBudget(retrytopics.MinRecordBytes, retrytopics.MinRecordBytes), partitioner: in.Partitioner(), wake: make(chan struct{}, 1),
	}
	s.base, s.stopWork = context.WithCancel(context.WithoutCancel(ctx))
	s.Sched = schedule.New(schedule.Config{
		Now: in.Attempts.Now, Linger: in.Cfg.Timing.Commit, Unfinished: offsets.MostUnfinished(maxMetadata - offsets.SealRoom), HeldBytes: in.Cfg.Limits.HeldBytes,
		Ripe: s.endPoll, Late: func(t *schedule.Task) { in.Results.Keep(&partition.TaskOf(t).Task) },
	})
	for range in.Cfg.Limits.Concurrency {
		w := in.Attempts.NewWorker(s.Sched.Counts)
		s.workers, s.callers = append(s.workers, w), append(s.callers, &w.Caller)
	}
	return s
}

// New checks topics and group, and joins the group. The returned session has fetched nothing.
func New(ctx context.Context, in *instance.Instance) (_ *Session, err error) {
	adm, err := in.Access.Admin()
	if err != nil {
		return nil, err
	}
	layout, err := in.Cluster.Inspect(ctx, adm, in.Health.WasHealthy())
	if err == nil {
		err = checkGroup(ctx, in, adm)
	}
	if err != nil {
		adm.Close()
		return nil, err
	}
	in.Former.Store(&layout.Former)
	s := offline(ctx, in, layout.MaxMetadata)
	s.adm, s.layout = adm, layout
	in.Attempts.Limits.Store(layout.Limits)
	if s.Committer, err = s.connect(ctx); err != nil {
		adm.Close()
		return nil, fmt.Errorf("new group member: %w", err)
	}
	return s, nil
}

// Run works until the context ends or the session cannot be repaired. If it returns without an error, all finished work
// is committed and the instance has left the group.
func (s *Session) Run(ctx context.Context) error {
	defer s.adm.Close()
	defer s.hangUp()
	var workers sync.WaitGroup
	defer workers.Wait()
	defer s.abandon()
	for _, w := range s.workers {
		workers.Go(func() { s.workLoop(w) })
	}
	housekeeping, stop := context.WithCancel(ctx)
	defer stop()
	workers.Go(func() { s.housekeep(housekeeping) })
	workers.Go(func() { s.callers.Watch(housekeeping) })
	for ctx.Err() == nil {
		if err := s.turn(ctx); err != nil {
			s.remember()
			s.part(ctx)
			return err
		}
	}
	return s.finish(ctx)
}

// parting is how long handlers may continue in a session that cannot be repaired: no longer than the pause before the
// next one.
const parting = instance.RestartMin / 2

// part lets running handlers end, and starts no more. The next session takes their results, so that no service is
// called twice. Handlers that need longer are cancelled by abandon.
func (s *Session) part(ctx context.Context) {
	over, cancel := context.WithTimeout(ctx, parting)
	defer cancel()
	select {
	case <-s.drained():
	case <-over.Done():
	}
}

// End makes the next turn end the session.
func (s *Session) End(err error) {
	s.mu.Lock()
	if s.fatal == nil {
		s.fatal = err
	}
	s.mu.Unlock()
	s.endPoll()
}

// remember stores the session's statistics for Engine.Stats. A session without partitions keeps the earlier
// statistics.
func (s *Session) remember() {
	if s.knowsPartitions() {
		last := s.known(s.in.Attempts.Now())
		s.in.Last.Store(&last)
	}
}

// closeTimeout bounds the closing of a client.
const closeTimeout = 2 * time.Second

// hangUp closes the client, or abandons it if it waits for a broker that does not answer.
func (s *Session) hangUp() {
	if member, _ := s.Committer.Client().GroupMetadata(); member != "" {
		s.in.Member.Store(&member)
	}
	closed := make(chan struct{})
	go func() { s.Committer.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(closeTimeout):
	}
}

// abandon ends the workers. Finished results that are not committed are kept for a later session.
func (s *Session) abandon() {
	s.stopWork()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keepResults(append(s.aborted, partition.TasksOf(s.Sched.Close())...))
}

// keepResults stores the results of tasks that are not committed.
func (s *Session) keepResults(tasks []*partition.Task) {
	for _, t := range tasks {
		s.in.Results.Keep(&t.Task)
	}
}

func (s *Session) workLoop(w *attempt.Worker) {
	for t := s.Sched.Next(); t != nil; {
		switch deferred, undone := w.Attempt(t.Partition.Context, &partition.TaskOf(t).Task); {
		case deferred != nil:
			s.Sched.Defer(t, attempt.OutageOf(deferred))
			t = s.Sched.Next()
		case undone:
			s.Sched.PutBack(t)
			t = s.Sched.Next()
		default:
			t = s.Sched.Exchange(t)
		}
	}
}

// turn polls once, passes the records to the scheduler, and commits finished results. Rebalances wait meanwhile.
func (s *Session) turn(ctx context.Context) error {
	fetches := s.poll(ctx)
	defer s.Committer.Client().AllowRebalance()
	if err := s.failed(ctx, fetches); err != nil {
		return err
	}
	s.proven()
	if again, err := s.afterRebalance(ctx); again || err != nil {
		return err
	}
	if err := s.accept(fetches); err != nil {
		return topics.Explain(ctx, s.adm, err)
	}
	if s.skipGaps() {
		s.seek((*partition.Partition).NextOffset)
	}
	if err := s.readLarge(ctx); err != nil {
		return err
	}
	if s.due() {
		return s.commit(ctx)
	}
	return nil
}

// due reports whether a transaction should begin.
func (s *Session) due() bool {
	if s.in.Health.Waits() > 0 {
		return false
	}
	ripe, some := s.Sched.Pending()
	return ripe || s.unfinished() || (!some && s.lazy && time.Since(s.lastDone) > lazyAfter)
}

// unfinished reports whether an aborted transaction has left results.
func (s *Session) unfinished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.aborted) > 0
}

// stalled reports whether nothing more is read, because nothing can be committed. A session without anything left to
// commit reads again when the next transaction is due: nothing else would show that commits work again.
func (s *Session) stalled() bool {
	_, blocked := s.in.Health.Blocked()
	_, some := s.Sched.Pending()
	return blocked && (some || s.unfinished() || s.in.Health.Waits() > 0)
}

// poll waits for records, but no longer than results may wait for their commit. When it returns, the client blocks
// rebalances until AllowRebalance.
func (s *Session) poll(ctx context.Context) kgo.Fetches {
	ripe := s.due()
	reads := !s.stalled() && s.in.Attempts.PausedFor() == ""
	s.reads(reads)
	if !reads {
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
	return s.Committer.Client().PollRecords(ctx, room)
}

// endPoll ends the wait of a poll, now or the next one's.
func (s *Session) endPoll() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// pollNothing only blocks rebalances.
func (s *Session) pollNothing(ctx context.Context) kgo.Fetches {
	over, cancel := context.WithCancel(ctx)
	cancel()
	return s.Committer.Client().PollRecords(over, 1)
}

// failed returns the first error of the fetches that a new session might repair, or that must end the engine.
func (s *Session) failed(ctx context.Context, fetches kgo.Fetches) error {
	s.mu.Lock()
	fatal := s.fatal
	s.mu.Unlock()
	if fatal != nil {
		return fatal
	}
	for _, fe := range fetches.Errors() {
		if err := s.fetchFailed(ctx, fe); err != nil {
			return err
		}
	}
	return nil
}

// fetchFailed returns nil for an error that passes without a new session.
func (s *Session) fetchFailed(ctx context.Context, fe kgo.FetchError) error {
	log := s.in.Cfg.Logger
	if large, ok := recordbatch.TooLarge(fe.Err); ok {
		s.beginLarge(ctx, large)
		return nil
	}
	var loss *kgo.ErrDataLoss
	switch {
	case errors.Is(fe.Err, context.Canceled), errors.Is(fe.Err, context.DeadlineExceeded), recordbatch.Deferred(fe.Err):
	case errors.As(fe.Err, &loss):
		log.ErrorContext(ctx, "the broker lost records", "topic", fe.Topic, "partition", fe.Partition, "error", fe.Err)
	case kerr.IsRetriable(fe.Err):
		s.pauseFetch(ctx, fe)
	case kafka.Denied(fe.Err):
		return s.in.Denial("Read", s.resource(fe), fe.Err)
	default:
		return fmt.Errorf("fetch %s partition %d: %w", fe.Topic, fe.Partition, fe.Err)
	}
	return nil
}

// resource names the resource for which a fetch was refused.
func (s *Session) resource(fe kgo.FetchError) string {
	if errors.Is(fe.Err, kerr.GroupAuthorizationFailed) || fe.Topic == "" {
		return "group " + s.in.Cfg.Group
	}
	return "topic " + fe.Topic
}

// idle is the poll during a pause: it waits for results and accepts nothing. What the client has fetched stays in its
// memory; pausing the partitions would discard it.
func (s *Session) idle(ctx context.Context, ripe bool) kgo.Fetches {
	if !ripe {
		s.awaitResults(ctx)
	}
	return s.pollNothing(ctx)
}
