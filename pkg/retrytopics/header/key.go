package header

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The control headers. All values are text, so that any Kafka UI shows them. A record has at most one of each: headers
// are replaced, never repeated.
const (
	KeyAttempt          = "switchback-attempt"           // attempts made so far, decimal
	KeyMaxAttempts      = "switchback-max-attempts"      // attempts allowed, decimal
	KeyDue              = "switchback-due"               // not before this time, RFC 3339 with milliseconds, UTC
	KeyFirstFailedAt    = "switchback-first-failed-at"   // RFC 3339 with milliseconds, UTC
	KeyFailedAt         = "switchback-failed-at"         // RFC 3339 with milliseconds, UTC
	KeyErrorClass       = "switchback-error-class"       // a classify.Class
	KeyErrorCode        = "switchback-error-code"        // a classify.Code
	KeyErrorStage       = "switchback-error-stage"       // a classify.Stage
	KeyErrorMessage     = "switchback-error-message"     // at most 1 KiB, no payload, no stack
	KeyErrorRequest     = "switchback-error-request"     // what was asked of another system, a classify.Request as JSON
	KeyErrorResponse    = "switchback-error-response"    // what it answered, a classify.Response as JSON
	KeySource           = "switchback-source"            // topic/partition/offset of the first appearance
	KeyGeneration       = "switchback-source-generation" // of the source topic of that time, decimal; absent in the first
	KeySourceTimestamp  = "switchback-source-timestamp"  // RFC 3339 with milliseconds, UTC
	KeyContentHash      = "switchback-content-hash"      // sha256:<hex>
	KeyFeatureID        = "switchback-feature-id"
	KeyBBox             = "switchback-bbox"         // minx,miny,maxx,maxy
	KeyPart             = "switchback-part"         // of an output or a dead letter: which part of the record it is, such as 17/230, from 0
	KeyPartVersion      = "switchback-part-version" // of a part that is a dead letter: the version of its whole record, decimal
	KeyRemaining        = "switchback-rest"         // which parts of the record are not finished, see Remaining
	KeySequence         = "switchback-sequence"     // place among the waiting records of a key, decimal
	KeyRunID            = "switchback-run-id"
	KeyPipeline         = "switchback-pipeline"
	KeyDeadLetterID     = "switchback-dead-letter-id"
	KeyReplayID         = "switchback-replay-id"
	KeyReplayCount      = "switchback-replay-count"             // times replayed, decimal
	KeyForceVersion     = "switchback-force-version"            // the word true: this replay may overwrite newer data
	KeyReplaySource     = "switchback-replay-source"            // topic/partition/offset of that replay, while it waits in a tier
	KeyReplayGeneration = "switchback-replay-source-generation" // of the source topic of that position, decimal; absent in the first
	KeyReplayProof      = "switchback-replay-proof"             // proves that the replayer wrote the control headers of a replay, see Origin.Proven
	KeyLineage          = "switchback-lineage"
	KeyCare             = "switchback-care"
	KeySovereignty      = "switchback-sovereignty"
)

// headerPrefix marks a header as ours. A header with this prefix and an unknown name, such as one of a newer version, is
// a control header too: it is never passed on as the producer's.
const headerPrefix = "switchback-"

// Header limits (all of them together stay under 8 KiB, except KeyRemaining, see maxRemainingBytes).
const (
	maxMessageBytes = 1024
	maxWordBytes    = 64  // of words from closed lists
	maxTextBytes    = 448 // every other free text; a request and a response have their own limit, see classify.MaxExchange
)

// MaxText is the longest free text, such as a feature ID, in a control header, in bytes. Longer texts are cut.
const MaxText = maxTextBytes

// MaxBytes is more than all control headers of a record together, including a pointer.
const MaxBytes = 8<<10 + MaxPointerBytes + maxRemainingBytes

// IsControl reports whether a header key belongs to the engine rather than to the producer.
func IsControl(key string) bool { return strings.HasPrefix(key, headerPrefix) }

// ProducerHeaders returns the headers that the producer sent, in order and with duplicates: all but the control headers.
// It does not change the input.
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
