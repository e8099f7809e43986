package deadletters

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/dialects"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// IDIn is the id of a letter as a record carries it that was put back out of a DLQ without a pipeline. Its consumers may hand headers on,
// and another DLQ has a letter of the same id.
func IDIn(dlq, id string) string { return id + "@" + dlq }

// DecodeAlone is [DecodeAs] for a DLQ that belongs to no pipeline; the dialect "" goes by the headers. Headers of ours say of a record there
// that it was put back out of this DLQ, or nothing: those that another DLQ or a pipeline left on it name no letter of this one. How often
// it was put back counts, wherever that was.
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
