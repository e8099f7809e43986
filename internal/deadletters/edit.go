package deadletters

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// HeaderEditOf marks a DLQ record that an operator made by editing another record of the same dead letter. Its value is
// the position "topic/partition/offset" of that record, which does not change. The consumer never sees the header.
const HeaderEditOf = "switchback-edit-of"

// readEdit sets EditOf. An edit does not count as a death.
func (l *Letter) readEdit(headers []kgo.RecordHeader) {
	for _, h := range headers {
		if h.Key != HeaderEditOf {
			continue
		}
		l.Deaths = 0
		at, err := header.ParsePosition(string(h.Value))
		if err != nil {
			l.Problems = append(l.Problems, "header "+HeaderEditOf+": "+err.Error())
			return
		}
		l.EditOf = at
		return
	}
}

// Edited reports whether the dead letter's bytes differ from those that died.
func (l *Letter) Edited() bool { return l.EditOf.Topic != "" }
