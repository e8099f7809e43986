package access

import "fmt"

// Reason is why a request is denied. It is a closed list.
type Reason string

// The reasons.
const (
	NotSignedIn Reason = "not_signed_in" // nobody says who asks
	Refused     Reason = "refused"       // who asks may not
	TooMany     Reason = "too_many"      // after too many wrong tokens
	Foreign     Reason = "foreign"       // another page sent the form
)

// Reasons returns every [Reason].
func Reasons() []Reason { return []Reason{NotSignedIn, Refused, TooMany, Foreign} }

// Denied says why a request is not obeyed.
type Denied struct {
	Reason Reason
	text   string
}

func (d *Denied) Error() string { return d.text }

func denied(reason Reason, format string, args ...any) error {
	return &Denied{reason, fmt.Sprintf(format, args...)}
}
