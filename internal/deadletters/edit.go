package deadletters

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// HeaderEditOf marks a record of the DLQ that an operator made by editing another one of the same letter: the position
// "topic/partition/offset" of that one, which stays as it is. The consumer never sees it.
const HeaderEditOf = "switchback-edit-of"

// readEdit notes that a letter's record is an edit. An edit is no death of its own.
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

// Edited reports whether the letter's bytes are not those that died.
func (l *Letter) Edited() bool { return l.EditOf.Topic != "" }
