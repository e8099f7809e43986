package dlq

// GroupJSON is a group of dead letters.
type GroupJSON struct {
	ID        string         `json:"id"`
	Code      string         `json:"code"`
	Stage     string         `json:"stage"`
	Message   string         `json:"message"`
	Count     int            `json:"count"`
	FirstSeen string         `json:"first_seen"`
	LastSeen  string         `json:"last_seen"`
	Bytes     int64          `json:"bytes"`
	Share     *float64       `json:"share"` // lower bound of the share of the consumed source records; null if it is unknown
	Replayed  int            `json:"replayed"`
	Statuses  map[string]int `json:"statuses"`
	PutBack   int            `json:"put_back,omitempty"` // of those discarded: put back to a topic of other software, which reports no outcome
	Example   ExampleJSON    `json:"example"`
	Note      *NoteJSON      `json:"note,omitempty"`
	Values    *ValuesJSON    `json:"values,omitempty"` // with --values
}

// ExampleJSON is one dead letter of a group.
type ExampleJSON struct {
	ID       string `json:"id"`
	Message  string `json:"message"`
	CausedBy string `json:"caused_by,omitempty"` // the innermost exception, if the message does not have it
}

// NoteJSON is a person's note on a group.
type NoteJSON struct {
	Text string `json:"text"`
	By   string `json:"by"`
	At   string `json:"at"`
}

// NewGroupJSON converts a group.
func NewGroupJSON(g Group) GroupJSON {
	statuses := map[string]int{}
	for s, n := range g.Statuses {
		statuses[StatusText(s)] = n
	}
	out := GroupJSON{
		ID: g.ID, Code: g.Code, Stage: g.Stage, Message: g.Message, Count: g.Count,
		FirstSeen: TimeText(g.FirstSeen), LastSeen: TimeText(g.LastSeen), Bytes: g.Bytes,
		Replayed: g.Replayed, PutBack: g.PutBack, Statuses: statuses, Example: ExampleJSON{ID: g.Example, Message: g.Said, CausedBy: g.CausedBy},
	}
	if g.Share >= 0 {
		out.Share = &g.Share
	}
	if g.Note != nil {
		out.Note = &NoteJSON{g.Note.Text, g.Note.By, TimeText(g.Note.At)}
	}
	if g.Values != nil {
		out.Values = newValuesJSON(g.Values)
	}
	return out
}

// ValuesJSON has the values for which the dead letters of a group are refused.
type ValuesJSON struct {
	Read    int         `json:"read"`    // dead letters whose bytes were read
	Refused int         `json:"refused"` // of these, the ones that today's transform refuses for one value
	Others  int         `json:"others"`  // of those, the ones whose value is not listed
	Most    []ValueJSON `json:"most"`
}

// ValueJSON is one such value.
type ValueJSON struct {
	Path  string `json:"path"` // RFC 6901
	Value string `json:"value"`
	Count int    `json:"count"`
}

func newValuesJSON(v *Values) *ValuesJSON {
	out := ValuesJSON{Read: v.Asked, Refused: v.Known, Others: v.Known, Most: []ValueJSON{}}
	for _, one := range v.Each[:min(len(v.Each), ValuesListed)] {
		out.Most = append(out.Most, ValueJSON{one.Path, one.Text, one.Letters})
		out.Others -= one.Letters
	}
	return &out
}
