package transform

// Field is one rule: it takes a value of the source and writes a property of the target. The value passes these steps,
// as far as the rule has them:
//
//	from or expr → null_values → extract → map → type (formats, values) → units → references
//
// If a step fails, on_error decides about the field.
type Field struct {
	// From is the property to read: its exact name, or a dotted path into nested objects ("owner.address.city",
	// "tags.0"). An exact name takes precedence, so a name that contains dots can be read unchanged. Defaults to To.
	From string `yaml:"from,omitempty" jsonschema_description:"Source property: a name or a dotted path; the same as to when it is absent"`

	// Expr computes the value instead of reading it. It is an expression of expr-lang/expr over id, properties,
	// geometry (type, positions, bbox) and target, which has the fields that earlier rules wrote. It has no I/O and
	// no clock, and its size, memory and loops are bounded: see the section on expressions in the package
	// documentation.
	Expr string `yaml:"expr,omitempty" jsonschema:"maxLength=4096" jsonschema_description:"Expression that computes the value, instead of from"`

	// To is the property to write. Mandatory.
	To string `yaml:"to" jsonschema:"required" jsonschema_description:"Target property"`

	// Type is the type to which the value is coerced. Empty accepts any value unchanged.
	Type Type `yaml:"type,omitempty" jsonschema:"enum=string,enum=integer,enum=number,enum=decimal,enum=boolean,enum=date,enum=datetime,enum=enum,enum=array,enum=object" jsonschema_description:"Type that the value is coerced to; any when it is absent"`

	// Thousands is the character between groups of three digits in numbers of the source: ' ’ , . _ or a space. Numbers
	// without it are accepted too.
	Thousands string `yaml:"thousands,omitempty" jsonschema_description:"Character between groups of three digits in numbers of the source, such as '"`

	// Decimal is the character before the decimals in numbers of the source. Defaults to a point.
	Decimal string `yaml:"decimal,omitempty" jsonschema_description:"Character before the decimals in numbers of the source: a comma, or a point (the default)"`

	// Formats are the formats of a date or datetime in the source. They are tried in their order: rfc3339, unix
	// (seconds), unix_ms, or a pattern with the directives of strftime %Y %y %m %d %-m %-d %e %b %B %j %H %I %p %M %S %f
	// %z %:z %a %A %%. Defaults to %Y-%m-%d for a date and rfc3339 for a datetime.
	Formats []string `yaml:"formats,omitempty" jsonschema_description:"How the source writes a date or datetime: rfc3339, unix, unix_ms, or a pattern such as %d.%m.%Y"`

	// TimeZone is the IANA name of the time zone of times without an offset, such as Europe/Zurich. Without it, such
	// times are refused. A date taken from a time is the date in this zone.
	TimeZone string `yaml:"time_zone,omitempty" jsonschema_description:"Time zone of times without an offset, such as Europe/Zurich"`

	// Values are the words of type enum. Any other value cannot be used. The comparison is exact.
	Values []string `yaml:"values,omitempty" jsonschema_description:"The words of type enum"`

	// Extract is a regular expression (RE2) with one group. The group of its first match in the text of the value is the
	// new value.
	Extract string `yaml:"extract,omitempty" jsonschema:"maxLength=1000" jsonschema_description:"Regular expression (RE2) with one group, which gives the value"`

	// Map replaces values. Its keys are the texts of source values.
	Map map[string]any `yaml:"map,omitempty" jsonschema_description:"Replaces values: the text of the source's value, and what is written for it"`

	// Unlisted decides about a value that Map does not list. Defaults to error.
	Unlisted Unlisted `yaml:"unlisted,omitempty" jsonschema:"enum=error,enum=keep" jsonschema_description:"What becomes of a value that map does not list: error (the default) or keep"`

	// Units converts a number from one unit to another.
	Units *Units `yaml:"units,omitempty" jsonschema_description:"Converts a number from one unit to another"`

	// References names the set that must contain the value as a key.
	References *FieldReference `yaml:"references,omitempty" jsonschema_description:"The reference set that the value must be a key of"`

	// Unique refuses an array that contains an item twice; 1 and 1.0 are the same number. It applies to type array only.
	// Uniqueness across features needs the whole table, and a mapping sees one record.
	Unique bool `yaml:"unique,omitempty" jsonschema_description:"Refuses an array that has an item twice"`

	// Required refuses a feature in which the field has no value.
	Required bool `yaml:"required,omitempty" jsonschema_description:"Refuses a feature in which the field has no value"`

	// NullValues are the values that stand for "none" in the source, such as "N/A", "" or -9999. A word matches a string
	// with exactly this text, and a number or boolean with this value.
	NullValues []any `yaml:"null_values,omitempty" jsonschema_description:"Values that stand for none, such as N/A"`

	// OnError decides about a value that cannot be used. Defaults to reject.
	OnError OnError `yaml:"on_error,omitempty" jsonschema:"enum=reject,enum=null,enum=default" jsonschema_description:"What is done with a value that cannot be used"`

	// Default is the value for `on_error: default`. It is used if the source has no usable value: missing, null, a null
	// word, or of another type.
	Default any `yaml:"default,omitempty" jsonschema_description:"The value for on_error: default"`
}

// Units is a conversion between two units of one quantity. docs/mapping.md lists the units.
type Units struct {
	// From is the unit of the source. Mandatory.
	From string `yaml:"from" jsonschema:"required" jsonschema_description:"Unit of the source"`

	// To is the unit of the target. Mandatory.
	To string `yaml:"to" jsonschema:"required" jsonschema_description:"Unit of the target"`
}

// FieldReference names the reference set that must contain a field's value as a key (S0-8).
type FieldReference struct {
	// Set is the name of the set. Mandatory.
	Set string `yaml:"set" jsonschema:"required" jsonschema_description:"Name of the reference set"`

	// Mandatory refuses a feature whose value is empty or not a key of the set, whatever the value of on_error.
	// Without it, such a value cannot be used and on_error decides. A field that is missing or null refers to
	// nothing: see required.
	Mandatory bool `yaml:"mandatory,omitempty" jsonschema_description:"Refuses the feature whatever on_error says"`
}

// IDRule is the rule for the id of a target feature. It depends on the source feature alone, so a feature has the same
// id each time (S0-6).
type IDRule struct {
	// From is "id" for the source's own id, or "properties." and a path. Defaults
	// to id.
	From string `yaml:"from,omitempty" jsonschema_description:"id, or properties. and a path into the source properties"`

	// Expr computes the id instead; see [Field.Expr]. It has no target.
	Expr string `yaml:"expr,omitempty" jsonschema:"maxLength=4096" jsonschema_description:"Expression that computes the id, instead of from"`

	// Hash appends a hyphen and the first 16 hexadecimal digits of the SHA-256
	// of the canonical source attributes.
	Hash bool `yaml:"hash,omitempty" jsonschema_description:"Appends a hash of the source attributes"`
}

// UnmarshalYAML decodes a rule. It exists for one word: in YAML, `on_error: null` is not a string but the null value.
// A decoder treats that as an absent key, and the field would reject a value although its author wrote null.
func (f *Field) UnmarshalYAML(unmarshal func(any) error) error {
	type plain Field
	if err := unmarshal((*plain)(f)); err != nil {
		return err
	}
	var keys map[string]any
	if err := unmarshal(&keys); err != nil {
		return err
	}
	if value, written := keys["on_error"]; written && value == nil {
		f.OnError = OnErrorNull
	}
	return nil
}
