package header

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The control headers. All values are text, so that any Kafka UI shows them. Headers replace, never pile up: a record
// has at most one of each.
const (
	KeyAttempt         = "switchback-attempt"           // attempts made so far, decimal
	KeyMaxAttempts     = "switchback-max-attempts"      // attempts allowed, decimal
	KeyDue             = "switchback-due"               // not before this time, RFC 3339 with milliseconds, UTC
	KeyFirstFailedAt   = "switchback-first-failed-at"   // RFC 3339 with milliseconds, UTC
	KeyFailedAt        = "switchback-failed-at"         // RFC 3339 with milliseconds, UTC
	KeyErrorClass      = "switchback-error-class"       // a classify.Class
	KeyErrorCode       = "switchback-error-code"        // a classify.Code
	KeyErrorStage      = "switchback-error-stage"       // a classify.Stage
	KeyErrorMessage    = "switchback-error-message"     // at most 1 KiB, no payload, no stack
	KeyErrorRequest    = "switchback-error-request"     // what was asked of another system, a classify.Request as JSON
	KeyErrorResponse   = "switchback-error-response"    // what it answered, a classify.Response as JSON
	KeySource          = "switchback-source"            // topic/partition/offset of the first appearance
	KeyGeneration      = "switchback-source-generation" // of the source topic of that time, decimal; absent in the first
	KeySourceTimestamp = "switchback-source-timestamp"  // RFC 3339 with milliseconds, UTC
	KeyContentHash     = "switchback-content-hash"      // sha256:<hex>
	KeyFeatureID       = "switchback-feature-id"
	KeyBBox            = "switchback-bbox"         // minx,miny,maxx,maxy
	KeyPart            = "switchback-part"         // of an output or a dead letter: which part of the record it is, such as 17/230, from 0
	KeyPartVersion     = "switchback-part-version" // of a part that is a dead letter: the version of its whole record, decimal
	KeyRemaining       = "switchback-rest"         // which parts of the record have no end yet, see Remaining
	KeySequence        = "switchback-sequence"     // place among the waiting records of a key, decimal
	KeyRunID           = "switchback-run-id"
	KeyPipeline        = "switchback-pipeline"
	KeyDeadLetterID    = "switchback-dead-letter-id"
	KeyReplayID        = "switchback-replay-id"
	KeyReplayCount     = "switchback-replay-count"  // times replayed, decimal
	KeyForceVersion    = "switchback-force-version" // the word true: this replay may overwrite newer data
	KeyReplaySource    = "switchback-replay-source" // topic/partition/offset of that replay, while it waits in a tier
	KeyReplayProof     = "switchback-replay-proof"  // that the replayer wrote the control headers of a replay, see Config.Proven
	KeyLineage         = "switchback-lineage"
	KeyCare            = "switchback-care"
	KeySovereignty     = "switchback-sovereignty"
)

// headerPrefix marks a header as ours. A header with this prefix and another name, such as one of a newer version, is a
// control header too: it is never passed on as if the producer had sent it.
const headerPrefix = "switchback-"

// Header limits (all of them together stay under 8 KiB, but for KeyRemaining, see maxRemainingBytes).
const (
	maxMessageBytes = 1024
	maxWordBytes    = 64  // of words of closed lists
	maxTextBytes    = 448 // every other free text; a request and a response bound themselves, see classify.MaxExchange
)

// MaxText is how many bytes a free text, such as a feature id, has in a control header; what is longer is cut.
const MaxText = maxTextBytes

// MaxBytes is more than all control headers of a record take together, a pointer included.
const MaxBytes = 8<<10 + MaxPointerBytes + maxRemainingBytes

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
