package control

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/kafka"
)

// replayPrefix begins the key of a replay that has not come to its end, before the replay's id.
const replayPrefix = "replay/"

// Replay is a replay that was begun and did not come to its end: it is at work, it stopped, or its replayer died. It is for people:
// consumers pass it over. The record is removed when the replay comes to its end.
type Replay struct {
	ID      string
	By      string
	Reason  string
	Command string // that goes on with it; "" when it is not known
	Letters int    // of its plan
	Running bool   // the last thing that its replayer said is that it is at work
	NotSent int    // letters that were not reached; known once it stopped
	Why     string // it stopped
	At      time.Time
}

// replayWire is the JSON of a replay.
type replayWire struct {
	Version int       `json:"version"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	Command string    `json:"command,omitempty"`
	Letters int       `json:"letters"`
	Running bool      `json:"running,omitempty"`
	NotSent int       `json:"not_sent,omitempty"`
	Why     string    `json:"why,omitempty"`
	At      time.Time `json:"at"`
}

// maxReplayText bounds the texts of a replay.
const maxReplayText = 8 << 10

func clipReplay(text string) string {
	if len(text) > maxReplayText {
		return strings.ToValidUTF8(text[:maxReplayText], "") + "…"
	}
	return text
}

// applyReplay takes in one record. One that cannot be read is passed over: it orders nothing.
func (v *View) applyReplay(id string, value []byte) {
	var w replayWire
	if value == nil || json.Unmarshal(value, &w) != nil {
		delete(v.Replays, id)
		return
	}
	if v.Replays == nil {
		v.Replays = map[string]Replay{}
	}
	v.Replays[id] = Replay{ID: id, By: w.By, Reason: w.Reason, Command: w.Command, Letters: w.Letters, Running: w.Running, NotSent: w.NotSent, Why: w.Why, At: w.At}
}

// PutReplay notes how a replay is.
func (l *Leases) PutReplay(ctx context.Context, r Replay) error {
	command := r.Command
	if len(command) > maxReplayText {
		command = "" // a command that is cut is another one
	}
	value, err := json.Marshal(replayWire{
		version, clip(r.By), clipReplay(r.Reason), command, r.Letters, r.Running, r.NotSent, clipReplay(r.Why), r.At.UTC(),
	})
	if err != nil {
		return fmt.Errorf("encode a replay: %w", err)
	}
	return l.put(ctx, replayPrefix+r.ID, value)
}

// RemoveReplay notes that a replay has come to its end.
func (l *Leases) RemoveReplay(ctx context.Context, id string) error {
	return l.put(ctx, replayPrefix+id, nil)
}

// put writes one record and waits for it, no longer than ctx lasts: a broker that does not answer may get it later.
func (l *Leases) put(ctx context.Context, key string, value []byte) error {
	written := make(chan error, 1)
	// One canceled record would fail the others of its batch, so none is canceled.
	l.client.Produce(context.WithoutCancel(ctx), &kgo.Record{Topic: l.topic, Key: []byte(key), Value: value}, func(_ *kgo.Record, err error) { written <- err })
	select {
	case err := <-written:
		return kafka.DeniedTopic("Write", l.topic, err)
	case <-ctx.Done():
		return ctx.Err()
	}
}
