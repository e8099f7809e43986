package verify

import "time"

// Report is the result of a run.
type Report struct {
	Pipeline string    `json:"pipeline"`
	Verdict  Verdict   `json:"verdict"`
	At       time.Time `json:"at"`     // of the cut
	Rounds   int       `json:"rounds"` // number of looks at the topics: more than one if something was suspected
	Records  int64     `json:"records_read"`

	Partitions []Counts       `json:"partitions"` // of the source
	All        Counts         `json:"all"`
	Findings   []Finding      `json:"findings"` // by kind and position; at most the limit of each kind
	Found      map[Kind]int64 `json:"found"`    // number of findings of each kind
	Unknowns   []Gone         `json:"cannot_be_known"`
	Notes      []string       `json:"notes"`
}

// Counts is the equation of one partition: Records is the sum of all the following.
type Counts struct {
	Partition    int32 `json:"partition"` // -1: all partitions
	From         int64 `json:"from"`      // log start
	To           int64 `json:"to"`        // end at the cut
	Committed    int64 `json:"committed"` // -1: the group has committed nothing
	Records      int64 `json:"records"`   // in the source; a replay counts as the record that it repeats
	Delivered    int64 `json:"delivered"`
	DeadLettered int64 `json:"dead_lettered"`
	Duplicates   int64 `json:"duplicates"`
	Superseded   int64 `json:"superseded"`
	Filtered     int64 `json:"filtered"`
	Waiting      int64 `json:"waiting"`   // in a tier
	Unread       int64 `json:"unread"`    // in the source, including replays
	InFlight     int64 `json:"in_flight"` // moved while the topics were read
	Unknown      int64 `json:"unknown"`
	Missing      int64 `json:"missing"`
}

func (c *Counts) add(o *Counts) {
	c.Records += o.Records
	c.Delivered += o.Delivered
	c.DeadLettered += o.DeadLettered
	c.Duplicates += o.Duplicates
	c.Superseded += o.Superseded
	c.Filtered += o.Filtered
	c.Waiting += o.Waiting
	c.Unread += o.Unread
	c.InFlight += o.InFlight
	c.Unknown += o.Unknown
	c.Missing += o.Missing
}

// Finding names one record, or a run of offsets.
type Finding struct {
	Kind   Kind   `json:"kind"`
	Source string `json:"source"`         // topic/partition/offset in the source, or in a tier if nothing else is known
	To     int64  `json:"to,omitempty"`   // end of a run, exclusive
	Part   string `json:"part,omitempty"` // such as 17/230
	Detail string `json:"detail"`
}

// Gone says of how many records something cannot be known, and why.
type Gone struct {
	Topic   string `json:"topic"` // the topic that would tell
	Reason  Reason `json:"reason"`
	Records int64  `json:"records"` // of the source; -1: unknown
	First   string `json:"first"`   // the first of them, or the first offset that the source still has
}
