package retrytopics

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Retries say when and where a transient failure is retried.
type Retries struct {
	Tiers []policy.Tier // ascending delays. Defaults to <Source>.retry-2s, .retry-8s and .retry-60s.
	// TierPrefix comes before the delay in the names of tiers (see TierTopic). A topic that is named so and not in Tiers is a former
	// tier: what waits there is finished, nothing is written to it. Defaults to <Source>.retry-
	TierPrefix string
	Policy     policy.Policy // of every category of failures that ByCategory does not name
	// ByCategory are policies for single categories; a zero field has the value of Policy. See Policies.ByCategory.
	ByCategory map[classify.Category]policy.Policy
	// Classify turns a handler's error into a failure. Defaults to a classify.Classifier without rules, which does with errors
	// that it does not know what Config.Unknown says.
	Classify func(error) classify.Failure
}

// policies gives the policy of every category.
func (r Retries) policies() policy.Policies {
	return policy.Policies{Default: r.Policy, ByCategory: r.ByCategory}
}

// Membership says what an instance is in its consumer group.
type Membership struct {
	// Instance makes the transactional id <Group>-<Instance>. It must be stable over restarts, so that a restarted
	// instance ends its predecessor's open transaction at once, and differ between instances that run at the same time.
	// Defaults to the host name.
	Instance string
	// Static keeps the group membership of an instance that is stopped, for Session: its partitions wait for it instead of
	// moving. An instance that crashes, and comes back under its name, has its partitions at once in any case.
	Static bool
	// Announce says something about this instance to all who describe the group: at most a few hundred bytes, as the user data of
	// its membership. It is asked at each join, see [Engine.Rejoin]. Defaults to nothing.
	Announce func() []byte
	Session  time.Duration // the group takes partitions from an instance silent for so long. Defaults to 45 s.
}

// Journal adds records to the transactions in which records are finished: an outbox of the engine's own decisions.
type Journal struct {
	// Event may return further records for an event: an audit trail, a state. They are produced in the transaction of
	// the event. Called from many goroutines. Defaults to none.
	Event func(*Event) ([]*kgo.Record, error)
	// Loss may return records about a gap; they are produced in the transaction whose positions pass over it. Called from
	// one goroutine. Defaults to none.
	Loss func(Loss) ([]*kgo.Record, error)
	// HashChain adds records that depend on what the partition's earlier transactions added. Defaults to none.
	HashChain HashChain
	// KeepPartition are topics besides tiers and DLQ whose records keep the partition number that the handler's outputs or Event set.
	KeepPartition []string
}

// Hooks are told what happens, for metrics and logs. They change nothing, but that OnFailure may call Engine.Hold.
type Hooks struct {
	// OnCommit is told the events of a transaction once it is committed, from one goroutine; it must not block long.
	// Only what is told here has happened: an attempt whose transaction is aborted is made again. An event that is kept
	// beyond the call keeps its record in memory.
	OnCommit func([]*Event)
	// OnFailure is told each failed attempt before it counts, from many goroutines; it must not block long. It may call
	// Engine.Hold, which undoes the attempt. Defaults to none.
	OnFailure func(*Event)
	// OnTransaction is told how long each transaction took and whether it was committed. Defaults to none.
	OnTransaction func(took time.Duration, committed bool)
}

// Limits say how much an engine does and holds at once.
type Limits struct {
	Concurrency int // handlers that run side by side. Defaults to 64.
	HeldRecords int // taken and unfinished records in memory, about. Defaults to 20000.
	// HeldBytes bounds their keys, values and headers in memory, decompressed, about. What the client has fetched and not
	// yet handed over comes on top: at most fetchedBytes of each broker. Defaults to 64 MiB.
	HeldBytes int
	// RecordBytes is the largest record, decompressed, that is read into memory, at least 16 MiB. A larger one becomes a
	// dead letter that points to where it lies (see Pointer). Defaults to 16 MiB.
	RecordBytes int
}

// Timing says how long things may take.
type Timing struct {
	Handler     time.Duration // a handler's context ends after it. Defaults to 60 s.
	Commit      time.Duration // results wait this long for others before their transaction begins. Defaults to 10 ms.
	Transaction time.Duration // the broker aborts a transaction after it. Defaults to 10 s.
	// Shutdown is how long Run may take to end, whatever hangs. Running handlers get about two thirds of it to finish,
	// their commit the rest. Defaults to 30 s.
	Shutdown time.Duration
	// ClockSkew is added to the time with which due times are made and compared. For tests of instances whose clocks differ.
	// Defaults to none.
	ClockSkew func() time.Duration
}

// Origin names the pipeline in the control headers, and says which control headers of the source topic are believed.
type Origin struct {
	Pipeline string // value of switchback-pipeline. Defaults to Group.
	RunID    string // value of switchback-run-id, when there is one
	// Proven vouches for the control headers of a record of the source topic: that the replayer of this pipeline wrote them for this
	// key and value. Its error is a *DoubtError, or counts as DoubtInvalid: the record is then taken as a new one, counted
	// (Stats.Doubts) and logged. It is asked only of records that claim to be replays, from several goroutines, and must not block.
	// Defaults to Unproven, which believes none: without a replayer there is nothing to believe. TrustProducers believes all.
	Proven func(*kgo.Record) error
}

// Client says how Kafka is reached.
type Client struct {
	Options   []kgo.Opt // TLS, SASL, client id and the like
	Principal string    // whom the cluster takes this client for, such as User:orders; named when it refuses something
}

// Delivery says what a crash may do to the outputs.
type Delivery string

const (
	// ExactlyOnce commits outputs, retry records, dead letters, journal, memory and offsets in one transaction.
	ExactlyOnce Delivery = "exactly_once"
	// AtLeastOnce is for clusters without transactions: everything is produced and acknowledged before the offsets are
	// committed. Order and tiers are the same; a crash or a rebalance in between produces some records again.
	AtLeastOnce Delivery = "at_least_once"
)

// Deliveries lists every delivery.
func Deliveries() []Delivery { return []Delivery{ExactlyOnce, AtLeastOnce} }
