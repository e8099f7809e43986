package retrytopics

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Config says what an Engine does. Brokers (or ClientOptions with seed brokers), Source, Group and Handler must be given;
// all else has a default.
type Config struct {
	Brokers []string // seed brokers, host:port
	Source  string   // topic to consume
	Group   string   // consumer group; its commits are the engine's memory
	Handler Handler

	Tiers []Tier // ascending delays. Defaults to <Source>.retry-2s, .retry-8s and .retry-60s.
	// TierPrefix comes before the delay in the names of tiers (see TierTopic). A topic that is named so and not in Tiers is a former
	// tier: what waits there is finished, nothing is written to it. Defaults to <Source>.retry-
	TierPrefix string
	DLQ        string // Defaults to <Source>.dlq.
	Policy     Policy // of every category of failures that Policies does not name
	// Policies are policies for single categories; a zero field has the value of Policy. See Policies.ByCategory.
	Policies map[classify.Category]Policy

	Ordering Ordering
	Dedupe   Dedupe
	// Versioned says that the handler gives Result.Version for every record that is no tombstone; one without is then not
	// compared. Otherwise the source offset is the version.
	Versioned bool

	// Instance makes the transactional id <Group>-<Instance>. It must be stable over restarts, so that a restarted
	// instance ends its predecessor's open transaction at once, and differ between instances that run at the same time.
	// Defaults to the host name.
	Instance string
	// Static keeps the group membership of an instance that is stopped, for SessionTimeout: its shards wait for it instead of
	// moving. An instance that crashes, and comes back under its name, has its shards at once in any case.
	Static   bool
	Delivery Delivery // Defaults to ExactlyOnce.
	Pipeline string   // value of switchback-pipeline. Defaults to Group.
	RunID    string   // value of switchback-run-id, when there is one

	// Proven vouches for the control headers of a record of the source topic: that the replayer of this pipeline wrote them for this
	// key and value. Its error is a *DoubtError, or counts as DoubtInvalid: the record is then taken as a new one, counted
	// (Stats.Doubts) and logged. It is asked only of records that claim to be replays, from several goroutines, and must not block.
	// Defaults to Unproven, which believes none: without a replayer there is nothing to believe. TrustProducers believes all.
	Proven func(*kgo.Record) error
	// Classify turns a handler's error into a failure. Defaults to classify.Of.
	Classify func(error) classify.Failure
	// Journal may return further records for an event: an audit trail, a state. They are produced in the transaction of
	// the event. Called from many goroutines. Defaults to none.
	Journal func(*Event) ([]*kgo.Record, error)
	// JournalLoss may return records about a gap; they are produced in the transaction whose positions pass over it. Called from
	// one goroutine. Defaults to none.
	JournalLoss func(Loss) ([]*kgo.Record, error)
	// OnCommit is told the events of a transaction once it is committed, from one goroutine; it must not block long.
	// Only what is told here has happened: an attempt whose transaction is aborted is made again. An event that is kept
	// beyond the call keeps its record in memory.
	OnCommit func([]*Event)
	// OnFailure is told each failed attempt before it counts, from many goroutines; it must not block long. It may call
	// Engine.Hold, which undoes the attempt. Defaults to none.
	OnFailure func(*Event)
	// OnTransaction is told how long each transaction took and whether it was committed. Defaults to none.
	OnTransaction func(took time.Duration, committed bool)
	// Trail adds records that depend on what the shard's earlier transactions added. Defaults to none.
	Trail Trail
	// ShardTopics are topics besides tiers and DLQ whose records keep the partition number that Outputs or Journal set.
	ShardTopics []string
	// Outputs are the topics that the handler writes to. What they take is read, so that an output that does not fit is a dead
	// letter before anything is written. One that is not named here is found out by the broker's refusal.
	Outputs []string

	Concurrency        int           // handlers that run side by side. Defaults to 64.
	HandlerTimeout     time.Duration // a handler's context ends after it. Defaults to 60 s.
	CommitInterval     time.Duration // results wait this long for others before their transaction begins. Defaults to 10 ms.
	TransactionTimeout time.Duration // the broker aborts a transaction after it. Defaults to 10 s.
	SessionTimeout     time.Duration // the group takes partitions from an instance silent for so long. Defaults to 45 s.
	// ShutdownTimeout is how long Run may take to end, whatever hangs. Running handlers get about two thirds of it to finish,
	// their commit the rest. Defaults to 30 s.
	ShutdownTimeout time.Duration
	MaxHeldRecords  int // taken and unfinished records in memory, about. Defaults to 20000.
	// MaxHeldBytes bounds their keys, values and headers in memory, decompressed, about. What the client has fetched and not
	// yet handed over comes on top: at most fetchedBytes of each broker. Defaults to 64 MiB.
	MaxHeldBytes int
	// MaxRecordBytes is the largest record, decompressed, that is read into memory, at least 16 MiB. A larger one becomes a
	// dead letter that points to where it lies (see Pointer). Defaults to 16 MiB.
	MaxRecordBytes int

	// ClockSkew is added to the time with which due times are made and compared. For tests of instances whose clocks differ.
	// Defaults to none.
	ClockSkew func() time.Duration

	ClientOptions []kgo.Opt    // TLS, SASL, client id and the like
	Principal     string       // whom the cluster takes this client for, such as User:orders; named when it refuses something
	Logger        *slog.Logger // Defaults to a logger that discards.
}

// withDefaults gives a copy in which every field has its value.
func (c Config) withDefaults() Config {
	c.Policy = c.Policy.withDefaults()
	c.TierPrefix = orDefault(c.TierPrefix, c.Source+".retry-")
	if len(c.Tiers) == 0 {
		for _, d := range []time.Duration{2 * time.Second, 8 * time.Second, 60 * time.Second} {
			c.Tiers = append(c.Tiers, Tier{TierTopic(c.TierPrefix, d), d})
		}
	}
	c.DLQ = orDefault(c.DLQ, c.Source+".dlq")
	c.Ordering = c.Ordering.withDefaults(c.Source)
	c.Dedupe = c.Dedupe.withDefaults(c.Source)
	if c.Instance == "" {
		c.Instance, _ = os.Hostname() // an error leaves it empty, which faults() reports
	}
	c.Delivery = orDefault(c.Delivery, ExactlyOnce)
	c.Pipeline = orDefault(c.Pipeline, c.Group)
	if c.Proven == nil {
		c.Proven = Unproven
	}
	if c.Classify == nil {
		c.Classify = classify.New(classify.Options{}).Of
	}
	c.Classify = classified(c.Classify)
	if c.Journal == nil {
		c.Journal = func(*Event) ([]*kgo.Record, error) { return nil, nil }
	}
	if c.OnCommit == nil {
		c.OnCommit = func([]*Event) {}
	}
	if c.OnFailure == nil {
		c.OnFailure = func(*Event) {}
	}
	if c.OnTransaction == nil {
		c.OnTransaction = func(time.Duration, bool) {}
	}
	c.Concurrency = orDefault(c.Concurrency, 64)
	c.HandlerTimeout = orDefault(c.HandlerTimeout, time.Minute)
	c.CommitInterval = orDefault(c.CommitInterval, 10*time.Millisecond)
	c.TransactionTimeout = orDefault(c.TransactionTimeout, 10*time.Second)
	c.SessionTimeout = orDefault(c.SessionTimeout, 45*time.Second)
	c.ShutdownTimeout = orDefault(c.ShutdownTimeout, 30*time.Second)
	c.MaxHeldRecords = orDefault(c.MaxHeldRecords, 20000)
	c.MaxHeldBytes = orDefault(c.MaxHeldBytes, 64<<20)
	c.MaxRecordBytes = orDefault(c.MaxRecordBytes, fetchedBytes)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// policies gives the policy of every category.
func (c Config) policies() Policies { return Policies{Default: c.Policy, ByCategory: c.Policies} }

// validate reports every fault at once.
func (c Config) validate() error {
	faults := append(append([]error{c.policies().Faults()}, c.Ordering.faults()...), c.Dedupe.faults()...)
	faults = append(faults, c.Trail.faults(c.Delivery)...)
	add := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	add(c.Source == "", "Source is empty: name the topic to consume")
	add(c.Group == "", "Group is empty: name the consumer group")
	add(c.Handler == nil, "Handler is nil")
	add(c.Instance == "", "Instance is empty and the host has no name: give each instance a stable one")
	add(len(c.Brokers) == 0 && len(c.ClientOptions) == 0, "Brokers is empty")
	add(c.Delivery != ExactlyOnce && c.Delivery != AtLeastOnce, "Delivery %q is none of %v", c.Delivery, Deliveries())
	add(c.Concurrency < 1, "Concurrency is %d, want at least 1", c.Concurrency)
	add(c.MaxHeldRecords < 1 || c.MaxHeldBytes < 1, "MaxHeldRecords and MaxHeldBytes must be at least 1")
	add(c.MaxRecordBytes < fetchedBytes || c.MaxRecordBytes > maxRecordBytes, "MaxRecordBytes is %d, want %d to %d", c.MaxRecordBytes, fetchedBytes, maxRecordBytes)
	add(c.CommitInterval < 0 || c.HandlerTimeout < 0 || c.TransactionTimeout < 0 || c.SessionTimeout < 0 || c.ShutdownTimeout < 0,
		"a duration is negative")
	names := map[string]string{c.Source: "Source"}
	topics := append([]Tier{}, c.Tiers...)
	for i, t := range append(topics, Tier{Topic: c.DLQ}) {
		what := "tier " + strconv.Itoa(i+1)
		if i == len(c.Tiers) {
			what = "DLQ"
		}
		add(t.Topic == "", "%s has no topic", what)
		add(names[t.Topic] != "", "%s and %s are the same topic %q", names[t.Topic], what, t.Topic)
		names[t.Topic] = what
	}
	for i, t := range c.Tiers {
		add(t.Delay <= 0, "tier %d has delay %v, want more than 0", i+1, t.Delay)
		add(i > 0 && t.Delay <= c.Tiers[i-1].Delay, "tier %d has delay %v, want more than tier %d", i+1, t.Delay, i)
	}
	return errors.Join(faults...)
}

// TierTopic gives the topic name of a tier: the prefix and the delay in its largest whole unit, such as "retry-2s",
// "retry-500ms" or "retry-5m".
func TierTopic(prefix string, delay time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if delay%unit.size == 0 && !(unit.size == time.Minute && delay == time.Minute) {
			return prefix + strconv.FormatInt(int64(delay/unit.size), 10) + unit.name
		}
	}
	return prefix + strconv.FormatInt(delay.Milliseconds(), 10) + "ms"
}
