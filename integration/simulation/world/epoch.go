package world

import (
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/integration/simulation/judge"
	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// A re-created source topic assigns its offsets again. The epoch counts the re-creations. Each recorded position in the
// source has judge.Stride added to its offset for each epoch, so that the judge sees one long topic. The world
// determines the epoch of a record without the engine.

// headerEpoch is the producer's header with the epoch in which an event was sent. The first epoch has none.
const headerEpoch = "epoch"

// replayID returns the ID of a replay in an epoch.
func replayID(number, epoch int) string {
	return "r" + strconv.Itoa(number) + "." + strconv.Itoa(epoch)
}

// epochOfReplay returns the epoch of a replay's ID.
func epochOfReplay(id string) int64 {
	_, text, _ := strings.Cut(id, ".")
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// epochOf returns the epoch of the event of a record.
func epochOf(headers []kgo.RecordHeader) int64 {
	text, _ := topiclog.Header(&kgo.Record{Headers: headers}, headerEpoch)
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// source returns the position at which a record first appeared.
func source(r *retrytopics.Record) string {
	at := r.Source
	at.Offset += epochOf(r.Headers) * judge.Stride
	return at.String()
}

// position returns the position at which a record was read.
func position(r *retrytopics.Record) string {
	at := r.Position
	switch {
	case at.Topic != Source:
	case r.Control.ReplayID != "":
		at.Offset += epochOfReplay(r.Control.ReplayID) * judge.Stride
	default:
		at.Offset += epochOf(r.Headers) * judge.Stride
	}
	return at.String()
}

// placed returns a record as the judge sees it, with the epoch added to its own offset and to the position in its
// headers.
func placed(r *kgo.Record, epoch int64) *kgo.Record {
	moved := *r
	if r.Topic == Source {
		moved.Offset += epoch * judge.Stride
	}
	text, n := topiclog.Header(r, header.KeySource)
	at, err := header.ParsePosition(text)
	if n == 0 || err != nil {
		return &moved
	}
	at.Offset += epochOf(r.Headers) * judge.Stride
	moved.Headers = nil
	for _, h := range r.Headers {
		if h.Key == header.KeySource {
			h.Value = []byte(at.String())
		}
		moved.Headers = append(moved.Headers, h)
	}
	return &moved
}
