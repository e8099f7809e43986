package topics

import "fmt"

// FaultKind is a kind of fault of a topic. It is a closed list (see FaultKinds).
type FaultKind string

// The faults of topics.
const (
	FaultMissing     FaultKind = "missing"
	FaultPartitions  FaultKind = "partitions"
	FaultCleanup     FaultKind = "cleanup_policy"
	FaultRetention   FaultKind = "retention"
	FaultMaxMessage  FaultKind = "max_message_bytes"
	FaultCompression FaultKind = "compression_type"
	FaultSegment     FaultKind = "segment_bytes"
)

// FaultKinds lists every kind of fault.
func FaultKinds() []FaultKind {
	return []FaultKind{FaultMissing, FaultPartitions, FaultCleanup, FaultRetention, FaultMaxMessage, FaultCompression, FaultSegment}
}

// Fault is one fault of one topic.
type Fault struct {
	Topic   string    `json:"topic"`
	Role    Role      `json:"role"`
	Kind    FaultKind `json:"kind"`
	Message string    `json:"message"` // what is wrong
	Fix     string    `json:"fix"`     // the command, or what to do

	refuses bool // the topic does not accept the pipeline's records
}

// Blocks reports whether the pipeline must not start: a topic is missing or does not fit, records would expire while
// they wait in a tier, or the topic does not accept the pipeline's records, because it is compacted and they have no
// key, or because its limit is too small.
func (f Fault) Blocks() bool {
	switch f.Kind {
	case FaultMissing, FaultPartitions:
		return true
	case FaultCleanup:
		return f.Role == RoleTier || f.refuses
	case FaultRetention:
		return f.Role == RoleTier
	case FaultMaxMessage:
		return f.refuses
	case FaultCompression, FaultSegment:
	}
	return false
}

// String is one line: "topic (role): what is wrong; what to do".
func (f Fault) String() string {
	return fmt.Sprintf("%s (%s): %s; %s", f.Topic, f.Role, f.Message, f.Fix)
}
