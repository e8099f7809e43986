package operation

import (
	"fmt"
	"time"

	"github.com/switchback-geo/switchback/internal/audit"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// Operation has the fields that all dead letters of one command share.
type Operation struct {
	ID         string // of the replay or the change
	Word       string // name of the operation in the audit topic: "replay", "discard", …
	Pipeline   string // ID of the pipeline
	By         string // operator
	User       string // user of the operating system, and the machine
	Invocation string // ID of the command; a replay that runs again has another one
	Reason     string
	Plan       string // checksum of the plan; "" without a plan
	Filter     string // JSON
	Undoes     string // ID of the operation that this one reverses; "" for all others
	Force      string // why dead letters may overwrite newer data; "" keeps the version guard
	Lease      LeaseOptions

	ContinueCommand  func(letters int) string // see [Call]; nil names no command
	IncludingPutBack bool                     // see [Call]
}

// Started returns the audit event that an operation starts with: operator, reason, filter and plan.
func (o *Operation) Started(now time.Time, letters int) *audit.Event {
	message := fmt.Sprintf("%s of %d dead letters by %s", o.Word, letters, o.By)
	if letters == 1 {
		message = fmt.Sprintf("%s of a dead letter by %s", o.Word, o.By)
	}
	if o.Force != "" {
		message += ", forced: they may overwrite newer data"
	}
	return &audit.Event{
		Time: now, Pipeline: o.Pipeline, RunID: o.ID, Decision: audit.Operation, Reason: o.Reason,
		By: o.By, User: o.User, Call: o.Invocation, Plan: o.Plan, Filter: header.Clip(o.Filter, maxFilter), Force: o.Force, Key: []byte(o.ID),
		Message: message,
	}
}

// maxFilter bounds the filter in an audit event, in bytes. A filter with thousands of IDs is cut.
const maxFilter = 16 << 10
