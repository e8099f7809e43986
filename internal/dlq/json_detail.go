package dlq

import (
	"encoding/json"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/internal/replay"
	"github.com/switchback-geo/switchback/internal/replay/plan"
)

// DetailJSON is everything about one dead letter.
type DetailJSON struct {
	LetterJSON
	State       *deadletters.State `json:"state"`
	Headers     []HeaderJSON       `json:"headers"`
	Feature     json.RawMessage    `json:"feature"`
	Repaired    json.RawMessage    `json:"repaired,omitempty"`   // the feature with its geometry as today's transform repairs it; absent if it does not
	Text        json.RawMessage    `json:"value_text,omitempty"` // of a DLQ without a pipeline: an Avro value as JSON
	DecodeError string             `json:"decode_error,omitempty"`
	Today       *plan.Verdict      `json:"today"`             // null for a dead letter that is gone, and without a pipeline
	Refused     *replay.Refused    `json:"refused,omitempty"` // of today, if that is a value or a place
	Hops        []audit.Event      `json:"hops"`
	HopsError   string             `json:"hops_error,omitempty"`
	Kept        string             `json:"kept,omitempty"`          // of a dead letter that is gone: raw_record of the index
	Unheld      string             `json:"value_missing,omitempty"` // why there is no value, and why today is null
}

// NewDetailJSON converts a detail.
func NewDetailJSON(d Detail) DetailJSON {
	out := DetailJSON{LetterJSON: NewLetterJSON(d.Letter), Headers: []HeaderJSON{}, Feature: d.Feature, Repaired: d.Repaired, Text: d.Text, Refused: d.Refused, Hops: d.Hops, Kept: d.Kept, Unheld: d.Unheld}
	if out.Hops == nil {
		out.Hops = []audit.Event{}
	}
	if d.HopsErr != nil {
		out.HopsError = d.HopsErr.Error()
	}
	if d.Letter.Content != nil {
		out.Headers = headersOf(d.Letter.Content.Headers)
	}
	if d.Letter.Content != nil && d.Unheld == "" && !d.Unasked {
		out.Today = &d.Verdict
	}
	if !d.Letter.State.At.IsZero() {
		out.State = &d.Letter.State
	}
	if d.Decode != nil {
		out.DecodeError = d.Decode.Error()
	}
	return out
}
