package index

import (
	"github.com/twmb/franz-go/pkg/kgo"

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
	decode  func(*kgo.Record) deadletters.Letter
	columns []column
}

func (e *entries) of(r *kgo.Record) entry {
	x := row{Letter: e.decode(r), dlq: e.dlq}
	x.raw, x.bytes = rawRecord(x.Content.Value)
	x.headers = headersJSON(x.Content)
	if box, err := deadletters.ParseBBox(x.Control.BBox); err == nil {
		x.box = &box
	}
	c := &x.Control
	return entry{
		tells: teller(&x.Letter),
		id:    plain(x.ID), standing: standingOf(&x), values: x.values(e.engine, e.columns),
		slot:  slot{at: x.At.UnixMilli(), size: uint32(x.Size)},
		group: name{groupName, x.Group}, pipeline: name{pipelineName, plain(c.Pipeline)}, run: name{runName, plain(c.RunID)},
		box: x.box, signature: signatureOf(&x),
		cause: cause{code: c.ErrorCode, stage: c.ErrorStage, featureID: c.FeatureID, message: c.ErrorMessage},
	}
}

// dies sets how many records of the DLQ a letter has.
func (e *entry) dies(deaths int) {
	e.standing.deaths = deaths
	for i, c := range writtenColumns() {
		if c.name == "deaths" {
			e.values[i] = int64(deaths)
		}
	}
}

// signatureOf is the signature of one letter.
func signatureOf(x *row) signature {
	s := make(signature, signatureBytes)
	s.add(x, x.Content.Value)
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
