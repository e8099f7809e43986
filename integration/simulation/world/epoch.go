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

// A source topic that is re-created gives its offsets again. An epoch counts how often it was. Whatever the world writes down of a
// position in the source has judge.Stride for each epoch added to its offset, so that the judge sees one long topic. The
// world knows the epoch of a record by itself, not from the engine.

// headerEpoch is the producer's header that says in which epoch an event was sent; absent in the first one.
const headerEpoch = "epoch"

// replayID names a replay, and the epoch in which it is put back.
func replayID(number, epoch int) string {
	return "r" + strconv.Itoa(number) + "." + strconv.Itoa(epoch)
}

// epochOfReplay reads replayID.
func epochOfReplay(id string) int64 {
	_, text, _ := strings.Cut(id, ".")
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// epochOf is the epoch of the event that a record is.
func epochOf(headers []kgo.RecordHeader) int64 {
	text, _ := topiclog.Header(&kgo.Record{Headers: headers}, headerEpoch)
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// source is where a record first appeared.
func source(r *retrytopics.Record) string {
	at := r.Source
	at.Offset += epochOf(r.Headers) * judge.Stride
	return at.String()
}

// position is where a record was taken.
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

// placed gives a record as the judge sees it: its own offset, if it lies in the source of an epoch, and the position in its headers.
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
