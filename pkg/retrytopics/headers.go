package retrytopics

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The control headers. All values are text, so that any Kafka UI shows them. Headers replace, never pile up: a record
// has at most one of each.
const (
	HeaderAttempt         = "switchback-attempt"           // attempts made so far, decimal
	HeaderMaxAttempts     = "switchback-max-attempts"      // attempts allowed, decimal
	HeaderDue             = "switchback-due"               // not before this time, RFC 3339 with milliseconds, UTC
	HeaderFirstFailedAt   = "switchback-first-failed-at"   // RFC 3339 with milliseconds, UTC
	HeaderFailedAt        = "switchback-failed-at"         // RFC 3339 with milliseconds, UTC
	HeaderErrorClass      = "switchback-error-class"       // a classify.Class
	HeaderErrorCode       = "switchback-error-code"        // a classify.Code
	HeaderErrorStage      = "switchback-error-stage"       // a classify.Stage
	HeaderErrorMessage    = "switchback-error-message"     // at most 1 KiB, no payload, no stack
	HeaderErrorRequest    = "switchback-error-request"     // what was asked of another system, a classify.Request as JSON
	HeaderErrorResponse   = "switchback-error-response"    // what it answered, a classify.Response as JSON
	HeaderSource          = "switchback-source"            // topic/partition/offset of the first appearance
	HeaderGeneration      = "switchback-source-generation" // of the source topic of that time, decimal; absent in the first
	HeaderSourceTimestamp = "switchback-source-timestamp"  // RFC 3339 with milliseconds, UTC
	HeaderContentHash     = "switchback-content-hash"      // sha256:<hex>
	HeaderFeatureID       = "switchback-feature-id"
	HeaderBBox            = "switchback-bbox"         // minx,miny,maxx,maxy
	HeaderPart            = "switchback-part"         // of an output or a dead letter: which part of the record it is, such as 17/230, from 0
	HeaderPartVersion     = "switchback-part-version" // of a part that is a dead letter: the version of its whole record, decimal
	HeaderRemaining       = "switchback-rest"         // which parts of the record have no end yet, see Rest
	HeaderSequence        = "switchback-sequence"     // place among the waiting records of a key, decimal
	HeaderRunID           = "switchback-run-id"
	HeaderPipeline        = "switchback-pipeline"
	HeaderDeadLetterID    = "switchback-dead-letter-id"
	HeaderReplayID        = "switchback-replay-id"
	HeaderReplayCount     = "switchback-replay-count"  // times replayed, decimal
	HeaderForceVersion    = "switchback-force-version" // the word true: this replay may overwrite newer data
	HeaderReplaySource    = "switchback-replay-source" // topic/partition/offset of that replay, while it waits in a tier
	HeaderReplayProof     = "switchback-replay-proof"  // that the replayer wrote the control headers of a replay, see Config.Proven
	HeaderLineage         = "switchback-lineage"
	HeaderCare            = "switchback-care"
	HeaderSovereignty     = "switchback-sovereignty"
)

// headerPrefix marks a header as ours. A header with this prefix and another name, such as one of a newer version, is a
// control header too: it is never passed on as if the producer had sent it.
const headerPrefix = "switchback-"

// Header limits (architecture: own headers together stay under 8 KiB, but for HeaderRest, see maxRestBytes).
const (
	maxMessageBytes = 1024 // switchback-error-message
	maxWordBytes    = 64   // switchback-error-class, -code and -stage, whose words are those of closed lists
	maxTextBytes    = 448  // every other free text; a request and a response bound themselves, see classify.MaxExchange
)

// MaxHeaderText is how many bytes a free text, such as a feature id, has in a control header; what is longer is cut.
const MaxHeaderText = maxTextBytes

// MaxControlBytes is more than all control headers of a record take together, a pointer included.
const MaxControlBytes = 8<<10 + MaxPointerBytes + maxRemainingBytes

// IsControl reports whether a header key belongs to the engine rather than to the producer.
func IsControl(key string) bool { return strings.HasPrefix(key, headerPrefix) }

// ProducerHeaders gives the headers that the producer sent, in their order and with their duplicates: all but the
// control headers. It shares no memory that it would change: the input stays as it is.
func ProducerHeaders(headers []kgo.RecordHeader) []kgo.RecordHeader {
	own := 0
	for _, h := range headers {
		if IsControl(h.Key) {
			own++
		}
	}
	if own == 0 {
		return slices.Clip(headers)
	}
	if own == len(headers) {
		return nil
	}
	kept := make([]kgo.RecordHeader, 0, len(headers)-own)
	for _, h := range headers {
		if !IsControl(h.Key) {
			kept = append(kept, h)
		}
	}
	return kept
}
