package classify

// Alert is how urgent a dead letter is (S4-10). A failure that is tried again alerts nobody: only what is left over when
// the attempts are used up does.
type Alert string

const (
	// AlertP1 pages somebody now: credentials, a structure that does not fit, a full disk, a rule about the data's use.
	AlertP1 Alert = "P1"
	// AlertP2 is looked at within an hour: all attempts are used up, a program is at fault.
	AlertP2 Alert = "P2"
	// AlertP3 is looked at within a day: a bad record.
	AlertP3 Alert = "P3"
	// AlertP4 alerts nobody; the log has it.
	AlertP4 Alert = "P4"
)

// Alerts lists every tier, the most urgent first.
func Alerts() []Alert { return []Alert{AlertP1, AlertP2, AlertP3, AlertP4} }
