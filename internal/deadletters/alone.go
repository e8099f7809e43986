package deadletters

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// IDIn returns the ID of a dead letter in a record that was put back out of a DLQ without a pipeline. Consumers may pass
// headers on, and another DLQ can have a dead letter with the same ID.
func IDIn(dlq, id string) string { return id + "@" + dlq }

// DecodeAlone is [DecodeAs] for a DLQ without a pipeline; the dialect "" goes by the headers. Our headers on such a
// record say that it was put back out of this DLQ, or nothing: those that another DLQ or a pipeline left on it name no
// dead letter of this one. The number of replays counts, wherever they were.
func DecodeAlone(d Dialect, r *kgo.Record, withContent bool) Letter {
	if d == "" {
		if d = dialects.Detect(r.Headers); d == Native && !has(r.Headers, header.KeyErrorCode) {
			d = Unknown // a consumer that adds no headers wrote it
		}
	}
	return decode(d, r, withContent, func(l *Letter) {
		id, own := strings.CutSuffix(l.Control.DeadLetterID, IDIn(r.Topic, ""))
		if own = own && OfOtherSoftware(id); !own {
			id, l.Control.ReplayID = "", ""
		}
		l.Control.DeadLetterID = id
	})
}

func has(headers []kgo.RecordHeader, name string) bool {
	for _, h := range headers {
		if h.Key == name {
			return true
		}
	}
	return false
}
