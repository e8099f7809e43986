package config

// Governance says which marks about the use of its content a record carries, and which of them forbid to process it
// (S3-1, S3-8). A record that breaks a rule is never tried again: it becomes a dead letter with the code governance_denied
// and the state escalated, and an entry of the governance ledger.
type Governance struct {
	// Care is where a record says which flags it has by the CARE principles, and what follows from them.
	Care Mark `yaml:"care"`
	// Sovereignty is where a record says whose the data are, and what follows from it.
	Sovereignty Mark `yaml:"sovereignty"`
	// Lineage is where a record says what it was made from, and what follows from it.
	Lineage Mark `yaml:"lineage"`
	// EscalateAfterAttempts writes an entry into the ledger when an attempt of this number at a record with CARE or sovereignty marks has failed transiently; the retries go on. 0 never does. Defaults to 0.
	EscalateAfterAttempts int `jsonschema:"minimum=0,maximum=1000,default=0" yaml:"escalate_after_attempts"`
	// Energy says how the energy of an attempt is computed for the log.
	Energy Energy `yaml:"energy"`
}

// Mark is one kind of mark. Several values stand in one text, separated by commas, or in a list.
type Mark struct {
	// Header is the producer's header that holds it. It is read before field. Defaults to none.
	Header string `jsonschema:"maxLength=200" yaml:"header"`
	// Field is the property of the feature that holds it, as properties.care. Defaults to none.
	Field string `jsonschema:"pattern=^(properties\\..+)?$" yaml:"field"`
	// Required makes a record without it a violation; a delete needs none. Defaults to false.
	Required bool `jsonschema:"default=false" yaml:"required"`
	// Allow lists the values that may be there; any other one is a violation. Defaults to all.
	Allow []string `jsonschema:"uniqueItems=true" yaml:"allow"`
	// Deny lists the values that may not. Defaults to none.
	Deny []string `jsonschema:"uniqueItems=true" yaml:"deny"`
}

// Read says whether the mark is read at all.
func (m Mark) Read() bool { return m.Header != "" || m.Field != "" }

// On says whether any mark is read, and so whether there is a governance ledger.
func (g Governance) On() bool { return g.Care.Read() || g.Sovereignty.Read() || g.Lineage.Read() }

// Energy is what measured CPU seconds are multiplied with (S3-7).
type Energy struct {
	// WattsPerCPU is what one busy processor core takes, with its share of the machine. 0 leaves energy out of the log. Defaults to 0.
	WattsPerCPU float64 `jsonschema:"minimum=0,maximum=1000" yaml:"watts_per_cpu"`
	// GridGramsPerKWh is the carbon intensity of the electricity, in grams of CO2 equivalents per kilowatt-hour. Defaults to 0.
	GridGramsPerKWh float64 `jsonschema:"minimum=0,maximum=5000" yaml:"grid_grams_per_kwh"`
}
