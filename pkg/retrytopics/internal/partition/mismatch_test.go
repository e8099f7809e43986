package partition

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/offsets"
)

// The error about a mismatch names the partition, the topic and the command that adopts the memory.
func TestMemoryError_S4_14_namesWhatToDo(t *testing.T) {
	t.Parallel()
	for _, kind := range []retrytopics.MismatchKind{
		retrytopics.MismatchSource, retrytopics.MismatchTier, retrytopics.MismatchLedger, retrytopics.MismatchState, retrytopics.MismatchGroup, retrytopics.MismatchUnbound,
	} {
		text := (&MismatchError{3, []retrytopics.Mismatch{{Kind: kind, Topic: "features.x", Remembered: "before", Now: "now"}}}).Error()
		expect.That(t, strings.Contains(text, "topics adopt -c") && strings.Contains(text, "partition 3") && strings.Contains(text, "features.x"), "the error: %s", text)
	}
}

// An event of a later topic is newer than every one of the topic before, whatever its offset.
func TestPlaced_S3_1_generationsOrderOffsets(t *testing.T) {
	t.Parallel()
	expect.That(t, (header.Version{Offset: header.VersionPosition(0, 1<<40)}).Less(header.Version{Offset: header.VersionPosition(1, 0)}) && (header.Version{Offset: header.VersionPosition(1, 3)}).Less(header.Version{Offset: header.VersionPosition(1, 4)}),
		"an older event counts as newer")
	expect.That(t, header.VersionPosition(offsets.MaxGeneration, 1<<48-1) >= 0, "the last generation overflows")
}
