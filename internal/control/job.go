package control

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// jobPrefix begins the key of a job, before the job's id.
const jobPrefix = "job/"

// JobKind is what a job does with dead letters. It is a closed list (see [JobKinds]).
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

// JobState is how a job stands. It is a closed list (see [JobStates]).
type JobState string

// The states.
const (
	JobRunning    JobState = "running"
	JobPausing    JobState = "pausing"    // it pauses after the transaction at hand
	JobPaused     JobState = "paused"     // its process waits to go on
	JobCancelling JobState = "cancelling" // it ends after the transaction at hand
	JobStopped    JobState = "stopped"    // by its gate, by a signal, or its process died
	JobCancelled  JobState = "cancelled"  // by an operator
	JobDone       JobState = "done"       // it reached all of its dead letters
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

// Job is one operation of a replayer on dead letters, at work or ended, with its progress and its result. It is for people: consumers
// pass it over.
type Job struct {
	ID      string    `json:"id"`  // of the operation
	Run     string    `json:"run"` // token of the lease: a replay that goes on has its id again
	Kind    JobKind   `json:"kind"`
	State   JobState  `json:"state"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	Command string    `json:"command,omitempty"` // that goes on with it; "" when it is not known
	Why     string    `json:"why,omitempty"`     // it ended before its end, or waits
	Began   time.Time `json:"began"`
	Heard   time.Time `json:"last_heard"`      // of its process
	Obeyed  time.Time `json:"obeyed,omitzero"` // when the order was given that its process heard last
	JobCounts
}

// IsReplay reports whether the job puts dead letters back.
func (j Job) IsReplay() bool { return j.Kind == JobReplay }

// Stopped reports whether the job ended before its end, so that somebody may go on with it.
func (j Job) Stopped() bool { return j.State.Ended() && j.NotReached > 0 }

// JobCounts is how far a job is, and its result once it ended.
type JobCounts struct {
	Letters      int `json:"letters"`    // chosen
	Done         int `json:"done"`       // put back, or changed
	Duplicates   int `json:"duplicates"` // closed, since a letter of the same content is put back
	Left         int `json:"left"`       // left as they are
	NotReached   int `json:"not_reached"`
	Transactions int `json:"transactions"`
	Wave         int `json:"wave,omitzero"`         // of a replay, from 1
	Reprocessed  int `json:"reprocessed,omitzero"`  // of those put back, as far as the replay waited for the consumer
	FailedAgain  int `json:"failed_again,omitzero"` // likewise

	Watched JobWatch `json:"watched,omitzero"` // by a replay that watches a consumer group
}

// JobWatch is what a replay of a DLQ without a pipeline has seen of the consumer group that it watches.
type JobWatch struct {
	Group    string `json:"group"`
	Consumed int    `json:"consumed"` // the group committed beyond them, and they did not die again within the grace
	Waiting  int    `json:"waiting"`  // put back, and neither consumed nor known to have died again
	// Through names the last record in each partition that the group has to commit beyond, as topic/partition/offset.
	Through string `json:"through,omitempty"`
}

// jobWire is the JSON of a job.
type jobWire struct {
	Version int `json:"version"`
	Job
}

const (
	maxJobText  = 8 << 10   // bytes of one text of a job
	maxJobBytes = 256 << 10 // bytes of a record: a larger one is not a job's
)

func clipJob(text string) string {
	if len(text) > maxJobText {
		text = text[:maxJobText] + "…"
	}
	return strings.ToValidUTF8(text, "�")
}

// readJob reads a job. ok is false for a record that no version writes.
func readJob(id string, value []byte) (j Job, ok bool) {
	var w jobWire
	if len(value) > maxJobBytes || json.Unmarshal(value, &w) != nil {
		return Job{}, false
	}
	j = w.Job
	c := j.JobCounts
	least := min(c.Letters, c.Done, c.Duplicates, c.Left, c.NotReached, c.Transactions, c.Wave, c.Reprocessed, c.FailedAgain, c.Watched.Consumed, c.Watched.Waiting)
	if j.ID != id || least < 0 || !slices.Contains(JobKinds(), j.Kind) || !slices.Contains(JobStates(), j.State) {
		return Job{}, false
	}
	return j, true
}

// applyJob takes in one record. One that cannot be read is passed over: it orders nothing.
func (v *View) applyJob(id string, value []byte) {
	j, ok := readJob(id, value)
	if !ok {
		delete(v.Jobs, id)
		return
	}
	if v.Jobs == nil {
		v.Jobs = map[string]Job{}
	}
	v.Jobs[id] = j
}

// encode returns the record of a job.
func (j Job) encode() ([]byte, error) {
	if len(j.Command) > maxJobText {
		j.Command = "" // a command that is cut is another one
	}
	j.By, j.Reason, j.Why, j.Command = clip(j.By), clipJob(j.Reason), clipJob(j.Why), clipJob(j.Command)
	j.Watched.Group, j.Watched.Through = clip(j.Watched.Group), clipJob(j.Watched.Through)
	j.Began, j.Heard = j.Began.UTC(), j.Heard.UTC()
	return json.Marshal(jobWire{version, j})
}

// How many jobs are kept, and how long one is kept after it was heard of last.
const (
	KeepJobs    = 100
	KeepJobsFor = 30 * 24 * time.Hour
)

// LatestJobs returns the jobs that are kept, the one that began last first, and the ids of the others.
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
