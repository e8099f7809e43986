package transform

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a time zone means the same on every machine

	"github.com/switchback-geo/switchback/pkg/internal/shorten"
	"github.com/switchback-geo/switchback/pkg/transform/internal/expression"
	"github.com/switchback-geo/switchback/pkg/transform/internal/numbers"
	"github.com/switchback-geo/switchback/pkg/transform/internal/times"
	"github.com/switchback-geo/switchback/pkg/transform/internal/units"
)

// compileSource compiles what a rule reads.
func compileSource(rule *fieldRule, faults *faultList) {
	if rule.Expr == "" {
		setDefault(&rule.From, rule.To)
		return
	}
	if rule.From != "" {
		faults.add(rule.place+".from", "the rule has an expression too, so nothing is read from here", "keep from or expr")
	}
	program, err := expression.Compile[expression.Field](rule.Expr)
	switch {
	case err != nil:
		faults.add(rule.place+".expr", err.Error(), fixExpression)
	case program.Reads.Nothing():
		faults.add(rule.place+".expr", "the expression reads nothing of the feature", "write the value under constants")
	}
	rule.program = program
}

const fixExpression = "correct the expression; it has id, properties, geometry and target, and the functions of docs/mapping.md"

// compileSteps compiles the steps of a rule.
func compileSteps(rule *fieldRule, sets map[string]Set, patterns *patternBudget, faults *faultList) {
	switch {
	case rule.Extract == "":
	case !patterns.takes(rule.Extract):
		faults.add(rule.place+".extract", fmt.Sprintf("the pattern is too large (%q): repetitions multiply", shorten.Text(rule.Extract)), "repeat fewer times, or match less")
	default:
		compileExtract(rule, faults)
	}
	compileMap(rule, faults)
	compileClock(rule, faults)
	compileWritten(rule, faults)
	compileValues(rule, faults)
	if rule.Unique && rule.Type != TypeArray {
		faults.add(rule.place+".unique", "only the items of an array can be unique: a mapping cannot compare two features",
			"set type: array; among features, make the value the id, and let the target have one row for each id")
	}
	if rule.Units != nil {
		compileUnits(rule, faults)
	}
	if rule.References != nil {
		compileReference(rule, sets, faults)
	}
	rule.steps = rule.pattern != nil || rule.table != nil
}

func compileExtract(rule *fieldRule, faults *faultList) {
	pattern, err := regexp.Compile(rule.Extract)
	switch {
	case err != nil:
		faults.add(rule.place+".extract", strings.TrimPrefix(err.Error(), "error parsing regexp: "), "write a regular expression of RE2 with one group")
	case pattern.NumSubexp() != 1:
		faults.add(rule.place+".extract", fmt.Sprintf("the pattern has %d groups", pattern.NumSubexp()),
			"put parentheses around the part that is the value, and (?:…) around others")
	default:
		rule.pattern = pattern
	}
	if rule.Type == TypeArray || rule.Type == TypeObject {
		faults.add(rule.place+".extract", "the extracted value is a text, and never an "+string(rule.Type), "change the type")
	}
}

func compileMap(rule *fieldRule, faults *faultList) {
	if rule.Unlisted != "" {
		checkWord(faults, rule.place+".unlisted", rule.Unlisted, Unlisteds())
		if len(rule.Map) == 0 {
			faults.add(rule.place+".unlisted", "the rule has no map", "add map, or remove it")
		}
	}
	if len(rule.Map) == 0 {
		return
	}
	setDefault(&rule.Unlisted, UnlistedError)
	rule.table = make(map[string]Value, len(rule.Map))
	for _, name := range sortedKeys(rule.Map) {
		value, err := ValueOf(rule.Map[name])
		if err != nil {
			faults.add(rule.place+".map."+name, err.Error(), "write a string, a number, true or false, a list or a map")
		}
		rule.table[name] = value
	}
}

// compileClock compiles the formats and the zone of a date or datetime.
func compileClock(rule *fieldRule, faults *faultList) {
	if rule.Type != TypeDate && rule.Type != TypeDateTime {
		if len(rule.Formats) > 0 {
			faults.add(rule.place+".formats", "only a date or datetime has formats", "set type: date or datetime, or remove them")
		}
		if rule.TimeZone != "" {
			faults.add(rule.place+".time_zone", "only a date or datetime has a time zone", "set type: date or datetime, or remove it")
		}
		return
	}
	rule.clock = &times.Clock{}
	formats := rule.Formats
	switch {
	case len(formats) > 0:
	case rule.Type == TypeDate:
		formats = []string{"%Y-%m-%d"}
	default:
		formats = []string{times.RFC3339}
	}
	for i, text := range formats {
		format, err := times.ParseFormat(text)
		if err != nil {
			faults.add(fmt.Sprintf("%s.formats[%d]", rule.place, i), err.Error(), "write rfc3339, unix, unix_ms, or a pattern such as %d.%m.%Y %H:%M")
			continue
		}
		if slices.Index(formats, text) < i {
			faults.add(fmt.Sprintf("%s.formats[%d]", rule.place, i), strconv.Quote(text)+" is listed already", "remove it")
		}
		rule.clock.Formats = append(rule.clock.Formats, format)
	}
	if rule.TimeZone == "" {
		return
	}
	zone, err := time.LoadLocation(rule.TimeZone)
	if err != nil || rule.TimeZone == "Local" {
		faults.add(rule.place+".time_zone", strconv.Quote(rule.TimeZone)+" is not a time zone", "write a name of the IANA data base, such as Europe/Zurich or UTC")
		return
	}
	rule.clock.Zone = zone
}

// compileValues checks the words of an enum.
func compileValues(rule *fieldRule, faults *faultList) {
	switch {
	case rule.Type == TypeEnum && len(rule.Values) == 0:
		faults.add(rule.place+".values", "an enum has no values", "list the accepted words")
	case rule.Type != TypeEnum && len(rule.Values) > 0:
		faults.add(rule.place+".values", "only an enum has values", "set type: enum, or remove them")
	}
	for i, word := range rule.Values {
		if slices.Index(rule.Values, word) < i {
			faults.add(fmt.Sprintf("%s.values[%d]", rule.place, i), strconv.Quote(word)+" is listed already", "remove it")
		}
	}
}

func compileUnits(rule *fieldRule, faults *faultList) {
	from, known := units.Find(rule.Units.From)
	if !known {
		faults.add(rule.place+".units.from", strconv.Quote(rule.Units.From)+" is not a unit", "write one of "+strings.Join(units.Names(), ", "))
	}
	to, both := units.Find(rule.Units.To)
	if !both {
		faults.add(rule.place+".units.to", strconv.Quote(rule.Units.To)+" is not a unit", "write one of "+strings.Join(units.Names(), ", "))
	}
	switch {
	case !known || !both:
	case from.Quantity != to.Quantity:
		faults.add(rule.place+".units", fmt.Sprintf("%s is a unit of %s, and %s one of %s", from.Name, from.Quantity, to.Name, to.Quantity), "write two units of one quantity")
	case from == to:
		faults.add(rule.place+".units", "both units are the same", "remove units")
	}
	if rule.Type != TypeNumber {
		faults.add(rule.place+".units", "only a number has units", "set type: number")
	}
	conversion := units.Between(from, to)
	rule.units = &conversion
}

// compileReference finds the set of a rule.
func compileReference(rule *fieldRule, sets map[string]Set, faults *faultList) {
	if rule.References.Set == "" {
		faults.add(rule.place+".references.set", "the rule refers to no set", "name one of the sets under references")
		return
	}
	rule.keys = sets[rule.References.Set]
	if rule.keys == nil {
		faults.add(rule.place+".references.set", fmt.Sprintf("there is no set %q", rule.References.Set), "name one of the sets under references")
	}
}

// checkReferences checks the list of reference sets.
func checkReferences(references []Reference, faults *faultList) {
	first := map[string]int{}
	for i, reference := range references {
		place := fmt.Sprintf("references[%d]", i)
		before, taken := first[reference.Name]
		switch {
		case reference.Name == "":
			faults.add(place+".name", "the set has no name", "name it; fields refer to it by this name")
		case taken:
			faults.add(place+".name", fmt.Sprintf("references[%d] is called %q already", before, reference.Name), "choose another name")
		default:
			first[reference.Name] = i
		}
		checkOrigin(place, reference, faults)
	}
}

// checkOrigin checks the source of a reference set.
func checkOrigin(place string, reference Reference, faults *faultList) {
	switch {
	case reference.File != "" && reference.Topic != "":
		faults.add(place+".topic", "the set has a file and a topic", "name one of them")
	case reference.Topic != "":
	case reference.File == "":
		faults.add(place, "the set has no source of its keys", "name a file, or a compacted topic")
	case !strings.HasSuffix(reference.File, ".csv") && !strings.HasSuffix(reference.File, ".ndjson"):
		faults.add(place+".file", strconv.Quote(reference.File)+" is neither a .csv nor an .ndjson file", "name a file that ends in .csv or .ndjson")
	case reference.Column == "":
		faults.add(place+".column", "the set has no column", "name the column of the CSV file, or the member of the objects, that has the keys")
	}
}

// checkReachable finds parts of a rule that can never apply.
func checkReachable(rule *fieldRule, faults *faultList) {
	for i, null := range rule.nulls {
		if _, mapped := rule.table[null.Text()]; mapped && null.Kind() == KindString && rule.pattern == nil {
			faults.add(fmt.Sprintf("%s.null_values[%d]", rule.place, i),
				strconv.Quote(null.Text())+" is in map too, which never gets it", "keep one of the two")
		}
	}
	if rule.table == nil {
		return
	}
	for _, name := range sortedKeys(rule.table) {
		value := rule.table[name]
		if value.IsNull() {
			continue
		}
		if _, e := rule.typed(value); e != nil {
			faults.add(rule.place+".map."+name, "the value in map can never be a field of type "+string(rule.Type), "write a value of the type")
		}
	}
}

// compileWritten checks how a rule's source writes numbers.
func compileWritten(rule *fieldRule, faults *faultList) {
	if rule.Thousands == "" && rule.Decimal == "" {
		return
	}
	if rule.Type != TypeInteger && rule.Type != TypeNumber && rule.Type != TypeDecimal {
		faults.add(rule.place+".type", "thousands and decimal are for numbers", "set type: number, integer or decimal")
	}
	if rule.Thousands != "" && !slices.Contains(numbers.Groupings(), rule.Thousands) {
		faults.add(rule.place+".thousands", strconv.Quote(shorten.Text(rule.Thousands))+" cannot separate groups of digits", "write one of "+quoteList(numbers.Groupings()))
	}
	if rule.Decimal != "" && rule.Decimal != "." && rule.Decimal != "," {
		faults.add(rule.place+".decimal", strconv.Quote(shorten.Text(rule.Decimal))+" is not a decimal character", `write "," or "."`)
	}
	if rule.written().Mark() == rule.Thousands {
		faults.add(rule.place+".thousands", strconv.Quote(rule.Thousands)+" is the decimal character", "name another character, or set decimal")
	}
}
