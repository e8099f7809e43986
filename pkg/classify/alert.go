package classify

// Alert is how urgent a dead letter is (S4-10). A failure that is retried raises no alert; only a failure whose attempts
// are used up does.
type Alert string

const (
	// AlertP1 pages a person now: credentials, a structure that does not fit, a full disk, a rule about the data's use.
	AlertP1 Alert = "P1"
	// AlertP2 needs a look within an hour: all attempts are used up, or a program is faulty.
	AlertP2 Alert = "P2"
	// AlertP3 needs a look within a day: a bad record.
	AlertP3 Alert = "P3"
	// AlertP4 is only logged.
	AlertP4 Alert = "P4"
)

// Alerts lists every alert tier, the most urgent first.
func Alerts() []Alert { return []Alert{AlertP1, AlertP2, AlertP3, AlertP4} }
