package replay

// Outcome counts what became of dead letters that were put back, as the consumer reports it (S4-8).
type Outcome struct {
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
func (o *Outcome) Finished() int { return o.Reprocessed + o.FailedAgain + o.Closed }

// add counts n dead letters with a fate and a reason. An operator's decision is no outcome.
func (o *Outcome) add(of fate, reason string, n int) {
	switch of {
	case fateUnderWay:
		o.UnderWay += n
	case fateReprocessed:
		o.Reprocessed += n
	case fateFailedOften:
		o.Escalated += n
		o.failed(reason, n)
	case fateFailedAgain:
		o.failed(reason, n)
	case fateClosed:
		o.Closed += n
	case fateAsDuplicate, fateElsewhere, fateDecided, fateUnheard, fateEnded:
	}
}

func (o *Outcome) failed(reason string, n int) {
	o.FailedAgain += n
	if o.Reasons != nil {
		o.Reasons[reason] += n
	}
}
