package control

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
)

// notePrefix precedes the group's ID in the key of the note on a group of dead letters.
const notePrefix = "note/"

// MaxNote is the longest note, in bytes.
const MaxNote = 900

// Note is what a person wrote on a group of dead letters.
type Note struct {
	Text string    `json:"text"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

// noteWire is the JSON of a note.
type noteWire struct {
	Version int `json:"version"`
	Note
}

// PutNote writes a note on a group, in place of the earlier one; an empty text removes it. check may refuse, given the
// current content of the topic; nil refuses nothing.
func (w *Writer) PutNote(ctx context.Context, group string, n Note, check func(View) error) error {
	order := &kgo.Record{Topic: w.cfg.Topics.Control, Key: []byte(notePrefix + group)}
	message := "removed the note on group " + group
	if n.Text != "" {
		value, err := json.Marshal(noteWire{version, n})
		if err != nil {
			return fmt.Errorf("encode a note: %w", err)
		}
		order.Value, message = value, "note on group "+group+": "+n.Text
	}
	_, err := w.write(ctx, order, w.event(audit.StateChanged, State{Code: CodeOperator, By: n.By, At: n.At}, message), check)
	return err
}

// applyNote applies one record. An unreadable one is no note.
func (v *View) applyNote(group string, value []byte) {
	var w noteWire
	if len(value) > maxJobBytes || json.Unmarshal(value, &w) != nil || w.Text == "" {
		delete(v.Notes, group)
		return
	}
	v.Notes[group] = w.Note
}
