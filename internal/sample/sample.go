package sample

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// Bounds of the memory.
const (
	maxFields = 500 // properties; further ones are counted
	maxDepth  = 3   // of objects whose members become fields
)

// Sample has what some features show.
type Sample struct {
	Features int
	Beyond   int      // properties that are ignored, because there are too many
	Texts    [][]byte // the unchanged features

	Skipped      int   // texts, and members of collections, that are not features
	FirstSkipped error // with its line

	collections int // FeatureCollections in the input

	fields   []*field // in order of appearance
	byPath   map[string]*field
	withID   int
	ids      map[string]bool
	types    map[string]int // of geometries; "" for none
	declared string         // reference system in a crs member
	degrees  extent         // of the features whose coordinates can be degrees
	beyond   extent         // of the others
	decimals map[int]int    // of ordinates
}

func newSample() *Sample {
	return &Sample{
		byPath: map[string]*field{}, ids: map[string]bool{}, types: map[string]int{}, decimals: map[int]int{},
		degrees: noExtent(), beyond: noExtent(),
	}
}

func (s *Sample) add(feature transform.Value) {
	s.Features++
	if id, there := feature.Member("id"); there && !id.IsNull() {
		s.withID++
		s.ids[id.Text()] = true
	}
	properties, _ := feature.Member("properties")
	s.properties(nil, properties, 0)
	geometry, _ := feature.Member("geometry")
	s.geometry(geometry)
}

// properties adds the members of an object.
func (s *Sample) properties(parent *field, v transform.Value, depth int) {
	if v.Kind() != transform.KindObject {
		return
	}
	prefix := ""
	if parent != nil {
		prefix = parent.path + "."
	}
	for _, m := range v.Members() {
		path := prefix + m.Name
		f := s.byPath[path]
		if f == nil {
			if len(s.fields) == maxFields {
				s.Beyond++
				continue
			}
			f = &field{path: path, name: m.Name, parent: parent, values: map[string]bool{}, looks: map[look]int{}}
			if parent != nil {
				parent.members++
			}
			s.byPath[path], s.fields = f, append(s.fields, f)
		}
		f.note(m.Value)
		if m.Value.Kind() == transform.KindObject && depth < maxDepth && plain(m.Name) {
			s.properties(f, m.Value, depth+1)
		}
	}
}

// plain reports whether a name can be part of a path.
func plain(name string) bool { return name != "" && !strings.Contains(name, ".") }

func (s *Sample) geometry(v transform.Value) {
	kind, _ := v.Member("type")
	if v.Kind() != transform.KindObject {
		s.types[""]++
		return
	}
	s.types[kind.Text()]++
	one := noExtent()
	s.shape(v, &one)
	switch {
	case one.empty():
	case one.isDegrees():
		s.degrees.join(one)
	default:
		s.beyond.join(one)
	}
}

// shape adds the coordinates of a geometry, including those in a collection.
func (s *Sample) shape(v transform.Value, box *extent) {
	if coordinates, there := v.Member("coordinates"); there {
		s.positions(coordinates, box)
	}
	if all, there := v.Member("geometries"); there {
		for _, one := range all.Items() {
			s.shape(one, box)
		}
	}
}

func (s *Sample) positions(v transform.Value, box *extent) {
	items := v.Items()
	if len(items) >= 2 && items[0].Kind() == transform.KindNumber && items[1].Kind() == transform.KindNumber {
		for i, item := range items[:2] {
			x, err := strconv.ParseFloat(item.Text(), 64)
			if err != nil {
				continue
			}
			box.bounds[i], box.bounds[i+2] = min(box.bounds[i], x), max(box.bounds[i+2], x)
			_, fraction, _ := strings.Cut(item.Text(), ".")
			s.decimals[len(fraction)]++
		}
		return
	}
	for _, item := range items {
		s.positions(item, box)
	}
}

// system stores the reference system of a crs member, as in GeoJSON of 2008.
func (s *Sample) system(crs json.RawMessage) {
	var named struct {
		Properties struct{ Name string }
	}
	if json.Unmarshal(crs, &named) != nil {
		return
	}
	if m := epsg.FindStringSubmatch(named.Properties.Name); m != nil {
		s.declared = "EPSG:" + m[1]
	}
}

var epsg = regexp.MustCompile(`(?i)^(?:urn:ogc:def:crs:)?EPSG:(?:[0-9.]*:)?([0-9]{4,6})$`)

// extent is the extent of features.
type extent struct {
	bounds   [4]float64 // west, south, east, north
	features int
}

func noExtent() extent {
	return extent{bounds: [4]float64{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}}
}

func (e *extent) empty() bool { return math.IsInf(e.bounds[0], 1) }

// isDegrees reports whether all coordinates can be longitudes and latitudes.
func (e *extent) isDegrees() bool { return e.within([4]float64{-180, -90, 180, 90}) }

func (e *extent) within(b [4]float64) bool {
	return e.bounds[0] >= b[0] && e.bounds[1] >= b[1] && e.bounds[2] <= b[2] && e.bounds[3] <= b[3]
}

// join adds the extent of one feature.
func (e *extent) join(one extent) {
	e.features++
	for i := range 2 {
		e.bounds[i], e.bounds[i+2] = min(e.bounds[i], one.bounds[i]), max(e.bounds[i+2], one.bounds[i+2])
	}
}
