package sample

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// Names are the parts of a pipeline file besides its mapping.
type Names struct {
	ID, Topic, From string // From is the origin of the sample, for a comment
	Brokers         []string
}

// PipelineFile returns the pipeline file. Everything from the sample is quoted, or counted in a comment, so it cannot add a key.
func (s *Sample) PipelineFile(n Names) []byte {
	w := &writer{}
	w.line("# Written by consumer init from %s of %s. Lines with a ? want a decision.", features(s.Features), comment(n.From))
	w.line("# Check it:  consumer validate -c FILE      Try it:  consumer transform -c FILE < features.ndjson")
	if s.Skipped > 0 {
		w.line("# ? It skipped %d of %d texts of the sample, which are no features. The first, %s", s.Skipped, s.Skipped+s.Features, comment(s.FirstSkipped.Error()))
	}
	w.line("pipeline:")
	w.line("  id: %s", quote(n.ID))
	w.line("  retry_policy:")
	w.line("    max_attempts: 5                                  # mandatory: the first attempt and four retries; then a dead letter")
	w.line("    base_delay_seconds: 2.0                          # mandatory: the first retry topic; the others wait 8 s and 60 s")
	w.line("    retryable_status_codes: [429, 502, 503, 504]     # mandatory: what a service answers that is busy or away for a while")
	w.line("  tolerance:")
	s.tolerance(w)
	w.line("kafka:")
	brokers := make([]string, len(n.Brokers))
	for i, b := range n.Brokers {
		brokers[i] = quote(b)
	}
	w.line("  brokers: [%s]   # the environment variable SWITCHBACK_KAFKA_BROKERS takes precedence", strings.Join(brokers, ", "))
	w.line("source:")
	w.line("  topic: %s", quote(n.Topic))
	w.line("  # each record needs a key, such as the ID of its feature; a record without one becomes a dead letter (null_key)")
	if s.collections > 0 && s.distinct() {
		w.line("  split: features                                    # the sample is a FeatureCollection: one output for each of its features")
	} else if s.collections > 0 {
		w.line("  # split: features                                  # ? the sample is a FeatureCollection, which is refused as it is; to split it, each feature needs an id of its own")
	}
	s.version(w)
	w.line("transform:")
	s.identity(w)
	s.mapping(w)
	s.places(w)
	return w.Bytes()
}

type writer struct{ bytes.Buffer }

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// quote returns a text in double quotes for YAML: Go escapes what is not printable in YAML 1.2 (5.7).
func quote(text string) string { return strconv.Quote(strings.ToValidUTF8(text, "�")) }

// comment returns a text that stays on the line of its comment.
func comment(text string) string { q := quote(text); return q[1 : len(q)-1] }

func features(n int) string {
	if n == 1 {
		return "1 feature"
	}
	return strconv.Itoa(n) + " features"
}

// tolerance writes the mandatory thresholds. The threshold for missing values is the sample's share and a little more.
func (s *Sample) tolerance(w *writer) {
	worst, name := 0.0, ""
	for _, f := range s.optional() {
		if share := 1 - float64(f.present)/float64(s.Features); share > worst {
			worst, name = share, f.path
		}
	}
	rate, why := 0.005, "no optional field lacked a value in the sample"
	switch {
	case !slices.ContainsFunc(s.fields, func(f *field) bool { return f.mapped() && !s.required(f) }):
		rate, why = 1, "it counts missing values of optional fields, and there is none"
	case name != "":
		rate = min(1, math.Ceil(worst*110+1)/100)
		why = fmt.Sprintf("%s lacked a value in %.1f %% of the sample", comment(name), 100*worst)
	}
	w.line("    max_null_rate: %-33s # mandatory: it pauses beyond; %s", strconv.FormatFloat(rate, 'f', -1, 64), why)
	w.line("    halt_on_geometry_invalid: false                  # mandatory: an invalid geometry is a dead letter, and pauses nothing")
	if digits, count := s.precision(); count > 0 {
		w.line("    # precision_decimal_threshold: %d                 # ? coordinates had %d decimals in most places: with it a source that gets coarser pauses the pipeline", min(digits, 15), digits)
	}
}

func (s *Sample) optional() (out []*field) {
	for _, f := range s.fields {
		if t, _ := f.kind(); f.mapped() && t != "" && f.present < s.Features {
			out = append(out, f)
		}
	}
	return out
}

// precision returns how many decimals most ordinates have.
func (s *Sample) precision() (digits, count int) {
	for _, d := range slices.Sorted(maps.Keys(s.decimals)) {
		if s.decimals[d] > count {
			digits, count = d, s.decimals[d]
		}
	}
	return digits, count
}

// version suggests what orders the events of a feature.
func (s *Sample) version(w *writer) {
	for _, f := range s.fields {
		if f.mapped() && f.present == s.Features && f.kinds[kindTime] == f.present && plain(f.name) && f.parent == nil {
			w.line("  # version: %s   # ? a time in every feature: with it an older event never overwrites a newer one", quote("properties."+f.name))
			return
		}
	}
}

// identity writes the source of a feature's ID.
func (s *Sample) identity(w *writer) {
	if s.distinct() {
		w.line("  # The id of a feature is its member id: each has one, and none came twice.")
		return
	}
	for _, f := range s.fields {
		if t, mixed := f.kind(); f.parent == nil && plain(f.name) && f.present == s.Features && !f.repeated && !mixed &&
			(t == transform.TypeString || t == transform.TypeInteger) && f.kinds[kindEmpty] == 0 && s.Features > 1 {
			w.line("  id: {from: %s}   # ? %s of %d have a member id; this property is in each feature, and no value came twice", quote("properties."+f.name), have(s.withID), s.Features)
			return
		}
	}
	w.line("  # ? id: %s of %d have a member id, %d of them different, and no property tells them apart.", have(s.withID), s.Features, len(s.ids))
}

// distinct reports whether each feature has a member id, and no two have the same.
func (s *Sample) distinct() bool { return s.withID == s.Features && len(s.ids) == s.Features }

func have(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n)
}

// mapping writes a field for each property.
func (s *Sample) mapping(w *writer) {
	if s.Beyond > 0 || s.byPath[""] != nil {
		w.line("  unmapped: keep                                     # the sample has properties that no field below reads")
	} else {
		w.line("  unmapped: drop                                     # ? properties that the sample does not have; keep lets them through")
	}
	names := map[string]bool{}
	for _, f := range s.fields { // a property keeps its name, whatever its path becomes
		if f.parent == nil && plain(f.name) {
			names[f.name] = true
		}
	}
	began := false
	for _, f := range s.fields {
		if !f.mapped() || f.path == "" { // a rule cannot name a property without a name
			continue
		}
		if !began {
			w.line("  fields:")
			began = true
		}
		to := f.path
		if f.parent != nil || !plain(f.name) {
			to = target(f.path, names)
		}
		s.rule(w, f, to)
	}
	if !began {
		w.line("  fields: []                                         # no feature had a property")
	}
	if s.Beyond > 0 {
		w.line("  # ? there are more than %d properties: what is beyond was not looked at", maxFields)
	}
}

// target returns the name of a field: its property's, with underscores for the dots of a path, and a number if the name
// is taken.
func target(path string, names map[string]bool) string {
	name := strings.ReplaceAll(path, ".", "_")
	if strings.Trim(name, "_") == "" {
		name = "field"
	}
	for i := 2; names[name]; i++ {
		name = strings.ReplaceAll(path, ".", "_") + "_" + strconv.Itoa(i)
	}
	names[name] = true
	return name
}

func (s *Sample) rule(w *writer, f *field, to string) {
	t, mixed := f.kind()
	looks, unlike, example := f.looksLike()
	rule := fmt.Sprintf("from: %s, to: %s", quote(f.path), quote(to))
	if t != "" {
		rule += ", type: " + string(t)
	}
	if s.required(f) {
		rule += ", required: true"
	}
	seen := fmt.Sprintf("%d of %d", f.present, s.Features)
	switch {
	case f.present == 0:
		seen = "? never a value: " + seen
	case looks != "" && unlike > 0:
		seen = fmt.Sprintf("? %s; %d of %d do not fit, such as %s; %s", looks, unlike, f.present, example, seen)
	case looks != "":
		seen = "? " + looks + "; " + seen
	case mixed:
		seen = "? of several kinds: " + f.kinds.String() + "; " + seen
	case f.others(t) > f.kinds[kindEmpty]:
		seen = fmt.Sprintf("? %d of %d are not of this type, such as %s; %s", f.others(t), f.present, f.unlike(t), seen)
	case f.kinds[kindEmpty] > 0:
		seen += fmt.Sprintf(`; %d are "": add null_values: [""] where that means no value`, f.kinds[kindEmpty])
	}
	w.line("    - {%s} # %s", rule, seen)
}

// required reports whether a field must have a value: each feature of the sample has one, of one type.
func (s *Sample) required(f *field) bool {
	t, _ := f.kind()
	return t != "" && f.parent == nil && f.present == s.Features
}

// String returns the number of values of each kind.
func (k counted) String() string {
	k[kindText], k[kindEmpty] = k[kindText]+k[kindEmpty], 0
	words := []string{"text", "", "date", "time", "whole number", "number of more than 64 bits", "number", "true or false", "array", "object"}
	var out []string
	for kind, n := range k {
		if n > 0 {
			out = append(out, fmt.Sprintf("%s %d", words[kind], n))
		}
	}
	return strings.Join(out, ", ")
}

// places writes the geometry: its reference system, if it is declared or obvious, and its types.
func (s *Sample) places(w *writer) {
	w.line("  geometry:")
	switch {
	case s.declared != "":
		w.line("    source_crs: %s                           # the sample's member crs names it", s.declared)
		w.line("    declared_crs: use                                # a record may name it, too")
	case s.degrees.empty() && s.beyond.empty():
		w.line("    source_crs: EPSG:4326                            # no feature had coordinates")
	case s.degrees.features > s.beyond.features && s.beyond.features > 0:
		w.line("    source_crs: EPSG:4326                            # ? longitude and latitude: %s; but of %s: %s", s.degrees, features(s.beyond.features), s.beyond)
	case s.degrees.features > s.beyond.features:
		w.line("    source_crs: EPSG:4326                            # longitude and latitude: %s", s.degrees)
	default:
		w.line("    source_crs: EPSG:4326                            # ? these are no degrees: %s. Name their system, such as %s; docs/crs.md", s.beyond, strings.Join(s.candidates(), ", "))
	}
	var types []string
	for _, t := range slices.Sorted(maps.Keys(s.types)) {
		if slices.Contains(transform.GeometryTypes(), transform.GeometryType(t)) {
			types = append(types, t)
		}
	}
	if len(types) > 0 {
		w.line("    types: [%s]   # those of the sample; another one is a dead letter", strings.Join(types, ", "))
	}
	if n := s.types[""]; n > 0 {
		w.line("    null_geometry: accept                            # ? %d of %d have no geometry; reject makes them dead letters", n, s.Features)
	}
	w.line("    validity: reject                                 # or repair, or flag; docs/geometry.md")
	flag := transform.DefaultFlagProperty
	for i := 2; s.taken(flag); i++ {
		flag = transform.DefaultFlagProperty + "_" + strconv.Itoa(i)
	}
	if flag != transform.DefaultFlagProperty {
		w.line("    flag_property: %s   # the sample has a property of the default name", quote(flag))
	}
}

// taken reports whether a field of the mapping has a name.
func (s *Sample) taken(name string) bool {
	return slices.ContainsFunc(s.fields, func(f *field) bool { return f.parent == nil && f.mapped() && f.name == name })
}

// candidates returns reference systems whose range contains the coordinates.
func (s *Sample) candidates() []string {
	var out []string
	for _, c := range []struct {
		name string
		box  [4]float64
	}{
		{"EPSG:2056 (Switzerland)", [4]float64{2_480_000, 1_070_000, 2_840_000, 1_300_000}},
		{"EPSG:25832 (UTM 32N)", [4]float64{160_000, 0, 840_000, 9_400_000}},
		{"EPSG:3857 (Web Mercator)", [4]float64{-20_037_509, -20_048_967, 20_037_509, 20_048_967}},
	} {
		if s.beyond.within(c.box) {
			out = append(out, c.name)
		}
	}
	return append(out, "another one")
}

func (e extent) String() string {
	return fmt.Sprintf("x from %s to %s, y from %s to %s", short(e.bounds[0]), short(e.bounds[2]), short(e.bounds[1]), short(e.bounds[3]))
}

func short(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }
