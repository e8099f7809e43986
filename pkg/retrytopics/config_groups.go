package retrytopics

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// Retries sets when and where a transient failure is retried.
type Retries struct {
	Tiers []policy.Tier // ascending delays. Defaults to <Source>.retry-2s, .retry-8s and .retry-60s.
	// TierPrefix precedes the delay in the names of tiers (see TierTopic). A topic with such a name that is not in Tiers
	// is a former tier: the engine finishes the records that wait there and writes nothing to it. Defaults to
	// <Source>.retry-
	TierPrefix string
	Policy     policy.Policy // of every category of failures without an entry in ByCategory
	// ByCategory has policies for single categories; a zero field has the value of Policy. See Policies.ByCategory.
	ByCategory map[classify.Category]policy.Policy
	// Classify converts a handler's error to a failure. Defaults to a classify.Classifier without rules, which treats
	// unknown errors as Config.Unknown says.
	Classify func(error) classify.Failure
}

// Policies returns the policy of every category.
func (r Retries) Policies() policy.Policies {
	return policy.Policies{Default: r.Policy, ByCategory: r.ByCategory}
}

// Membership configures an instance in its consumer group.
type Membership struct {
	// Instance makes the transactional id <Group>-<Instance>. It must be stable over restarts, so that a restarted
	// instance ends its predecessor's open transaction at once. It must differ between instances that run at the same
	// time. Defaults to the host name.
	Instance string
	// Static keeps the group membership of a stopped instance for Session: its partitions wait for it instead of moving.
	// An instance that crashes and comes back under its name gets its partitions at once in any case.
	Static bool
	// Announce returns text about this instance for everybody who describes the group: at most a few hundred bytes, as
	// the user data of its membership. The engine calls it at each join, see engine.Engine.Rejoin. Defaults to nothing.
	Announce func() []byte
	Session  time.Duration // the group reassigns the partitions of an instance that is silent for so long. Defaults to 45 s.
}

// Journal adds records to the transactions in which records are finished, such as an outbox or an audit trail.
type Journal struct {
	// Event may return further records for an event, such as an audit event. They are produced in the transaction of the
	// event. The engine calls it from many goroutines. Defaults to none.
	Event func(*Event) ([]*kgo.Record, error)
	// Loss may return records about a gap. They are produced in the transaction that commits positions beyond the gap.
	// The engine calls it from one goroutine. Defaults to none.
	Loss func(Loss) ([]*kgo.Record, error)
	// HashChain adds records that depend on those of the partition's earlier transactions. Defaults to none.
	HashChain HashChain
	// KeepPartition lists topics besides tiers and DLQ whose records keep the partition number that the handler's
	// outputs or Event set.
	KeepPartition []string
}

// Loss is a gap: offsets of a partition that retention or an operator deleted before the group had finished them.
type Loss struct {
	Topic     string
	Partition int32
	From, To  int64 // the first missing offset, and the first existing one
	Records   int64 // upper bound: transaction markers and records removed by compaction count too
}

// Hooks are functions for metrics and logs. They change nothing, except that OnFailure may call Pause of the engine.
type Hooks struct {
	// OnCommit is called with the events of each committed transaction, from one goroutine; it must not block long. Only
	// these events have happened: an attempt whose transaction is aborted is repeated. An event that is kept beyond the
	// call keeps its record in memory.
	OnCommit func([]*Event)
	// OnFailure is called with each failed attempt before it counts, from many goroutines; it must not block long. It
	// may call Pause of the engine, which undoes the attempt. Defaults to none.
	OnFailure func(*Event)
	// OnTransaction is called with the duration of each transaction and whether it was committed. Defaults to none.
	OnTransaction func(took time.Duration, committed bool)
}

// Limits bounds the concurrency and the memory of an engine.
type Limits struct {
	Concurrency int // concurrent handlers. Defaults to 64.
	HeldRecords int // approximate number of unfinished records in memory. Defaults to 20000.
	// HeldBytes bounds their keys, values and headers in memory, decompressed, approximately. Records that the client
	// has fetched and not yet returned come on top: at most MinRecordBytes of each broker. Defaults to 64 MiB.
	HeldBytes int
	// RecordBytes is the size of the largest record that is read into memory, decompressed, at least 16 MiB. A larger
	// record becomes a dead letter that points to its position (see Pointer). Defaults to 16 MiB.
	RecordBytes int
}

// Bounds of Limits.RecordBytes. The engine decompresses MinRecordBytes of a fetch response at once, and reads a larger
// batch record by record. MaxRecordBytes leaves room for headers in what a client writes to a broker at once (100 MiB).
const (
	MinRecordBytes = 16 << 20
	MaxRecordBytes = 80 << 20
)

// Timing has the time limits.
type Timing struct {
	Handler     time.Duration // the context of a handler ends after it. Defaults to 60 s.
	Commit      time.Duration // how long results wait for others before their transaction begins. Defaults to 10 ms.
	Transaction time.Duration // the broker aborts a transaction after it. Defaults to 10 s.
	// Shutdown is how long Run may take to end, even if a handler or a broker hangs. Running handlers get about two
	// thirds of it to finish, and their commit the rest. Defaults to 30 s.
	Shutdown time.Duration
	// ClockSkew is added to the time with which due times are computed and compared, for tests of instances with
	// different clocks. Defaults to none.
	ClockSkew func() time.Duration
}

// Origin names the pipeline in the control headers, and sets which control headers of the source topic are trusted.
type Origin struct {
	Pipeline string // value of switchback-pipeline. Defaults to Group.
	RunID    string // value of switchback-run-id, if there is one
	// Proven returns nil if the replayer of this pipeline wrote the control headers of a source record for this key and
	// value. Otherwise it returns a *DoubtError; any other error counts as DoubtInvalid. The engine then treats the
	// record as a new one, counts it (Stats.Doubts) and logs it. It calls Proven only for records that claim to be
	// replays, from several goroutines; Proven must not block. Defaults to Unproven, which trusts no record, because
	// there is no replayer. TrustProducers trusts all.
	Proven func(*kgo.Record) error
}

// Client configures the connection to Kafka.
type Client struct {
	Options   []kgo.Opt // TLS, SASL, client ID and others
	Principal string    // the name of this client in the cluster, such as User:orders; errors about a missing permission name it
}

// Delivery is the delivery guarantee of the outputs.
type Delivery string

const (
	// ExactlyOnce commits outputs, retry records, dead letters, journal, memory and offsets in one transaction.
	ExactlyOnce Delivery = "exactly_once"
	// AtLeastOnce is for clusters without transactions: everything is produced and acknowledged before the offsets are
	// committed. Order and tiers are the same. A crash or a rebalance in between produces some records again.
	AtLeastOnce Delivery = "at_least_once"
)

// Deliveries lists every delivery.
func Deliveries() []Delivery { return []Delivery{ExactlyOnce, AtLeastOnce} }
