package replay

import (
	"bytes"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// KeptHeaders lists the control headers that go back with a letter: where the feature first
// appeared, so that order and dedupe hold it to that place, and what must survive every hop
// (S3-8).
func KeptHeaders() []string {
	return []string{
		retrytopics.HeaderSource, retrytopics.HeaderSourceTimestamp,
		retrytopics.HeaderLineage, retrytopics.HeaderCare, retrytopics.HeaderSovereignty,
	}
}

// SetHeaders lists the control headers that a replay writes anew.
func SetHeaders() []string {
	return []string{
		retrytopics.HeaderReplayID, retrytopics.HeaderReplayCount,
		retrytopics.HeaderDeadLetterID, retrytopics.HeaderContentHash,
	}
}

// StrippedHeaders lists the control headers that do not go back: the letter starts its attempts
// anew, and what made it die is no longer true. Headers of ours that this version does not know
// are stripped as well.
func StrippedHeaders() []string {
	return []string{
		retrytopics.HeaderAttempt, retrytopics.HeaderMaxAttempts, retrytopics.HeaderDue,
		retrytopics.HeaderFirstFailedAt, retrytopics.HeaderFailedAt,
		retrytopics.HeaderErrorClass, retrytopics.HeaderErrorCode, retrytopics.HeaderErrorStage, retrytopics.HeaderErrorMessage,
		retrytopics.HeaderFeatureID, retrytopics.HeaderBBox, retrytopics.HeaderSequence,
		retrytopics.HeaderRunID, retrytopics.HeaderPipeline,
	}
}

// reinjected is the record that goes back into the source topic: original key, bytes, partition
// and producer headers; control headers by the lists above. The letter must have its content.
func reinjected(source, replayID string, l *deadletters.Letter) *kgo.Record {
	control := retrytopics.Control{
		Source: l.Control.Source, HasSource: l.Control.HasSource, SourceTimestamp: l.Control.SourceTimestamp,
		Lineage: l.Control.Lineage, Care: l.Control.Care, Sovereignty: l.Control.Sovereignty,
		ReplayID: replayID, ReplayCount: l.Replays() + 1, DeadLetterID: l.ID, ContentHash: l.ContentHash,
	}
	own := slices.Clip(retrytopics.ProducerHeaders(l.Content.Headers))
	return &kgo.Record{
		Topic: source, Partition: l.DLQ.Partition, Key: bytes.Clone(l.Key), Value: l.Content.Value,
		Headers: control.AppendTo(own),
	}
}
