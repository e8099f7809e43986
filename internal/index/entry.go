package index

import (
	"math"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// entry is a letter as it is written. It is made while the letters before it are written, on
// another processor.
type entry struct {
	id                   string   // as the table has it
	standing             standing // without a state
	slot                 slot     // without the numbers of the names
	group, pipeline, run name
	box                  *deadletters.BBox
	signature            signature
	cause                cause
	values               []any               // of writtenColumns
	tells                *deadletters.Letter // when its record says that a replay failed in other software
}

// cause is what names the group of a letter.
type cause struct{ code, stage, featureID, message string }

// entries makes entries of the records of one DLQ.
type entries struct {
	engine  Engine
	dlq     int64
	columns []column
}

// of gives also how many bytes it takes.
func (e *entries) of(l *deadletters.Letter) (made entry, bytes int) {
	x := row{Letter: *l, dlq: e.dlq}
	x.raw, x.bytes = rawRecordOf(l)
	x.headers = headersJSON(x.Content)
	if box, err := deadletters.ParseBBox(x.Control.BBox); err == nil {
		x.box = &box
	}
	c := &x.Control
	made = entry{
		tells: teller(&x.Letter),
		id:    plain(x.ID), standing: standingOf(&x), values: x.values(e.engine, e.columns),
		slot:  slot{at: x.At.UnixMilli(), size: uint32(min(x.Size, math.MaxUint32))},
		group: name{groupName, x.Group}, pipeline: name{pipelineName, plain(c.Pipeline)}, run: name{runName, plain(c.RunID)},
		box: x.box, signature: signatureOf(&x),
		cause: cause{code: c.ErrorCode, stage: c.ErrorStage, featureID: c.FeatureID, message: c.ErrorMessage},
	}
	return made, len(x.raw) + len(x.bytes) + len(x.headers) + len(x.Key)
}

// diesAgain takes over from the record before how many there were of the letter, and when the first of them died.
func (e *entry) diesAgain(engine Engine, before standing) {
	e.standing.deaths += before.deaths
	e.standing.first = min(e.standing.first, before.first)
	e.slot.since = between(e.standing.first, e.slot.at)
	for i, c := range writtenColumns() {
		switch c.name {
		case "deaths":
			e.values[i] = int64(e.standing.deaths)
		case firstColumn:
			e.values[i] = engine.time(time.UnixMilli(e.standing.first))
		}
	}
}

// signatureOf is the signature of one letter.
func signatureOf(x *row) signature {
	s := make(signature, signatureBytes)
	s.add(x, x.Searched())
	for _, h := range x.Content.Headers {
		if deadletters.Searchable(h.Key) {
			value := string(h.Value)
			s.header(plain(h.Key), &value)
		}
	}
	return s
}

// add adds what a text is looked for in, and the feature.
func (s signature) add(x *row, value []byte) {
	feature := plain(x.Control.FeatureID)
	for _, text := range [][]byte{[]byte(plain(x.Control.ErrorMessage)), []byte(feature), x.Key, value} {
		s.text(text)
	}
	s.name(featureWord, feature)
}
