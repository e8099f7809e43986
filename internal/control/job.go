package control

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// jobPrefix precedes the job's ID in the key of a job.
const jobPrefix = "job/"

// JobKind is the kind of change that a job makes to dead letters. It is a closed list (see [JobKinds]).
type JobKind string

// The kinds.
const (
	JobReplay   JobKind = "replay"
	JobDiscard  JobKind = "discard"
	JobEscalate JobKind = "escalate"
	JobReopen   JobKind = "reopen"
	JobEdit     JobKind = "edit"
	JobUndo     JobKind = "undo"
)

// JobKinds lists every kind.
func JobKinds() []JobKind {
	return []JobKind{JobReplay, JobDiscard, JobEscalate, JobReopen, JobEdit, JobUndo}
}

// JobState is the state of a job. It is a closed list (see [JobStates]).
type JobState string

// The states.
const (
	JobRunning    JobState = "running"
	JobPausing    JobState = "pausing"    // it pauses after the current transaction
	JobPaused     JobState = "paused"     // its process waits to continue
	JobCancelling JobState = "cancelling" // it ends after the current transaction
	JobStopped    JobState = "stopped"    // by its gate, by a signal, or because its process exited
	JobCancelled  JobState = "cancelled"  // by an operator
	JobDone       JobState = "done"       // it processed all of its dead letters
	// JobFailedAgain is the state of a replay that put everything back and then saw some of it fail again.
	JobFailedAgain JobState = "failed_again"
	JobFailed      JobState = "failed" // an error ended it
)

// JobStates lists every state.
func JobStates() []JobState {
	return []JobState{JobRunning, JobPausing, JobPaused, JobCancelling, JobStopped, JobCancelled, JobDone, JobFailedAgain, JobFailed}
}

// Ended reports whether no process works on the job any more.
func (s JobState) Ended() bool {
	switch s {
	case JobStopped, JobCancelled, JobDone, JobFailedAgain, JobFailed:
		return true
	case JobRunning, JobPausing, JobPaused, JobCancelling:
	}
	return false
}

// Job is one operation of a replayer on dead letters, running or ended, with its progress and its result. Consumers
// ignore it.
type Job struct {
	ID      string    `json:"id"`  // of the operation
	Run     string    `json:"run"` // token of the lease: a continued replay keeps its ID
	Kind    JobKind   `json:"kind"`
	State   JobState  `json:"state"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	Command string    `json:"command,omitempty"` // continues the job; "" if it is unknown
	Why     string    `json:"why,omitempty"`     // why it ended early, or waits
	Began   time.Time `json:"began"`
	Heard   time.Time `json:"last_heard"`      // last sign of life of its process
	Obeyed  time.Time `json:"obeyed,omitzero"` // time of the last order that its process has read
	Again   bool      `json:"again,omitzero"`  // an earlier call of the same replay has a record
	JobCounts
}

// IsReplay reports whether the job reinjects dead letters.
func (j Job) IsReplay() bool { return j.Kind == JobReplay }

// Stopped reports whether the job ended early, so that a replayer may continue it.
func (j Job) Stopped() bool { return j.State.Ended() && j.NotReached > 0 }

// JobCounts is the progress of a job, and its result once it has ended.
type JobCounts struct {
	Letters      int `json:"dead_letters"` // chosen
	Done         int `json:"done"`         // reinjected, or changed
	Duplicates   int `json:"duplicates"`   // closed, because a dead letter with the same content was reinjected
	Left         int `json:"left"`         // not changed
	NotReached   int `json:"not_reached"`
	Transactions int `json:"transactions"`
	Wave         int `json:"wave,omitzero"`         // of a replay, from 1
	Reprocessed  int `json:"reprocessed,omitzero"`  // of the reinjected ones, if the replay waited for the consumer
	FailedAgain  int `json:"failed_again,omitzero"` // likewise

	// Taken counts the dead letters whose state names this replay, from all its calls, once the call has Counted them.
	Taken   int  `json:"taken,omitzero"`
	Counted bool `json:"counted,omitzero"`

	Watched JobWatch `json:"watched,omitzero"` // by a replay that watches a consumer group
}

// JobWatch is the progress of the consumer group that a replay of a DLQ without a pipeline watches.
type JobWatch struct {
	Group    string `json:"group"`
	Consumed int    `json:"consumed"` // the group committed beyond them, and they did not die again within the grace
	Waiting  int    `json:"waiting"`  // reinjected, neither consumed nor reported to have failed again
	// Through names the last record in each partition that the group must commit beyond, as topic/partition/offset.
	Through string `json:"through,omitempty"`
}

// jobWire is the JSON of a job.
type jobWire struct {
	Version int `json:"version"`
	Job
}

const (
	maxJobText  = 8 << 10   // bytes of one text of a job
	maxJobBytes = 256 << 10 // bytes of a record: a larger one is not a job
)

// readJob parses a job. ok is false for a record that no version writes.
func readJob(id string, value []byte) (j Job, ok bool) {
	var w jobWire
	if len(value) > maxJobBytes || json.Unmarshal(value, &w) != nil {
		return Job{}, false
	}
	j = w.Job
	c := j.JobCounts
	least := min(c.Letters, c.Done, c.Duplicates, c.Left, c.NotReached, c.Transactions, c.Wave, c.Reprocessed, c.FailedAgain, c.Taken, c.Watched.Consumed, c.Watched.Waiting)
	if j.ID != id || least < 0 || !slices.Contains(JobKinds(), j.Kind) || !slices.Contains(JobStates(), j.State) {
		return Job{}, false
	}
	return j, true
}

// applyJob applies one record. It ignores an unreadable one, which orders nothing.
func (v *View) applyJob(id string, value []byte) {
	j, ok := readJob(id, value)
	if !ok {
		delete(v.Jobs, id)
		return
	}
	v.Jobs[id] = j
}

// clipped returns the job with texts and times in their written form.
func (j Job) clipped() Job {
	if len(j.Command) > maxJobText {
		j.Command = "" // a truncated command would be a different one
	}
	j.By, j.Reason, j.Why, j.Command = header.Clip(j.By, maxLeaseText), header.Clip(j.Reason, maxJobText), header.Clip(j.Why, maxJobText), header.Clip(j.Command, maxJobText)
	j.Watched.Group, j.Watched.Through = header.Clip(j.Watched.Group, maxLeaseText), header.Clip(j.Watched.Through, maxJobText)
	j.Began, j.Heard = j.Began.UTC(), j.Heard.UTC()
	return j
}

// How many jobs are kept, and how long after their last sign of life.
const (
	KeepJobs    = 100
	KeepJobsFor = 30 * 24 * time.Hour
)

// LatestJobs returns the jobs to keep, the latest first, and the IDs of the others.
func (v View) LatestJobs(now time.Time) (kept []Job, expired []string) {
	for _, j := range v.Jobs {
		kept = append(kept, j)
	}
	slices.SortFunc(kept, func(a, b Job) int { return cmp.Or(b.Began.Compare(a.Began), strings.Compare(a.ID, b.ID)) })
	n := 0
	kept = slices.DeleteFunc(kept, func(j Job) bool {
		if n < KeepJobs && now.Sub(j.Heard) <= KeepJobsFor {
			n++
			return false
		}
		expired = append(expired, j.ID)
		return true
	})
	return kept, expired
}

// jobOrderPrefix precedes the job's ID in the key of the latest order for a job. The order has a record of its own: the
// job's process writes the job, and must not overwrite an order that it has not seen.
const jobOrderPrefix = "job-order/"

// JobVerb is an order for a job. It is a closed list (see [JobVerbs]).
type JobVerb string

// The verbs.
const (
	PauseJob  JobVerb = "pause"
	ResumeJob JobVerb = "resume"
	CancelJob JobVerb = "cancel"
)

// JobVerbs lists every verb.
func JobVerbs() []JobVerb { return []JobVerb{PauseJob, ResumeJob, CancelJob} }

// JobOrder is an order for one run of a job.
type JobOrder struct {
	Verb JobVerb   `json:"verb"`
	Run  string    `json:"run"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

// jobOrderWire is the JSON of an order.
type jobOrderWire struct {
	Version int `json:"version"`
	JobOrder
}

// applyJobOrder applies one record. An unreadable one orders nothing.
func (v *View) applyJobOrder(id string, value []byte) {
	var w jobOrderWire
	if len(value) > maxJobBytes || json.Unmarshal(value, &w) != nil || !slices.Contains(JobVerbs(), w.Verb) {
		delete(v.JobOrders, id)
		return
	}
	w.By = header.Clip(w.By, maxJobText)
	v.JobOrders[id] = w.JobOrder
}

// OrderFor returns the latest order for a job's current run; zero if there is none.
func (v View) OrderFor(j Job) JobOrder {
	if o := v.JobOrders[j.ID]; o.Run == j.Run {
		return o
	}
	return JobOrder{}
}

// notePrefix precedes the group's ID in the key of the note on a group of dead letters.
const notePrefix = "note/"

// MaxNote is the longest note, in bytes.
const MaxNote = 900

// Note is a person's note about a group of dead letters.
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

// PutNote writes a note on a group, in place of the earlier one; an empty text removes it. check can refuse the note,
// given the current content of the topic; a nil check accepts every note.
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

// applyNote applies one record. An unreadable one is ignored.
func (v *View) applyNote(group string, value []byte) {
	var w noteWire
	if len(value) > maxJobBytes || json.Unmarshal(value, &w) != nil || w.Text == "" {
		delete(v.Notes, group)
		return
	}
	v.Notes[group] = w.Note
}
