package states

// Counts counts what became of dead letters that were put back, as the consumer reports it (S4-8).
type Counts struct {
	Reprocessed int `json:"reprocessed"`
	FailedAgain int `json:"failed_again"` // pending again, or escalated
	Escalated   int `json:"escalated"`    // of FailedAgain: failed too often
	Closed      int `json:"closed"`       // duplicate, superseded or filtered: nothing is left to do
	// Consumed counts dead letters of a DLQ without a pipeline that a watched group has passed, and that did not die
	// again within the grace.
	Consumed int            `json:"consumed,omitzero"`
	UnderWay int            `json:"under_way"` // not finished by the consumer
	Reasons  map[string]int `json:"reasons,omitempty"`
}

// Finished returns the number of dead letters with an outcome.
func (o *Counts) Finished() int { return o.Reprocessed + o.FailedAgain + o.Closed }

// add counts n dead letters with an outcome and a reason. An operator's decision is no outcome.
func (o *Counts) add(of outcome, reason string, n int) {
	switch of {
	case underWay:
		o.UnderWay += n
	case reprocessed:
		o.Reprocessed += n
	case failedOften:
		o.Escalated += n
		o.failed(reason, n)
	case failedAgain:
		o.failed(reason, n)
	case closed:
		o.Closed += n
	case closedAsDuplicate, sentElsewhere, decidedByOperator, unheard, waitEnded:
	}
}

func (o *Counts) failed(reason string, n int) {
	o.FailedAgain += n
	if o.Reasons != nil {
		o.Reasons[reason] += n
	}
}
