package control

import (
	"encoding/json"
	"slices"
	"time"
)

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
	w.By = clipJob(w.By)
	v.JobOrders[id] = w.JobOrder
}

// OrderFor returns the latest order for a job's current run; zero if there is none.
func (v View) OrderFor(j Job) JobOrder {
	if o := v.JobOrders[j.ID]; o.Run == j.Run {
		return o
	}
	return JobOrder{}
}
