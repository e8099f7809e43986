package envelope

import (
	"slices"
	"strconv"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// maxOneByOne bounds in bytes how much of a collection is read when its features are read one by one. What surrounds them
// counts for each feature.
const maxOneByOne = 64 << 20

// oneByOne reads the features of a FeatureCollection one by one, because they cannot be read together for the given reason.
// It returns that reason if no single feature is at fault.
func (o *Opener) oneByOne(format Format, value []byte, reason error) (Content, error) {
	pieces, ok := transform.CutCollection(value)
	n := pieces.Len()
	if !ok || n == 0 || n > o.options.MaxFeatures || n*pieces.Frame() > maxOneByOne {
		return Content{}, reason
	}
	if _, err := o.features(format, pieces.Empty()); err != nil {
		return Content{}, reason
	}
	c := Content{Format: format, Features: make([]*transform.Feature, n), Text: value, Pieces: pieces, Faults: map[int]error{}}
	for i := range n {
		features, err := o.features(format, pieces.Alone(i))
		if err != nil {
			c.Faults[i] = below(err, "/features/0", "/features/"+strconv.Itoa(i))
			continue
		}
		c.Features[i] = features[0]
	}
	if len(c.Faults) == 0 { // together they exceed a limit that each alone does not
		return Content{}, reason
	}
	return c, nil
}

// Unread returns the fault of the first feature that cannot be read, or nil. It fails a record whose features do not
// fail separately.
func (c *Content) Unread() error {
	if at := slices.Index(c.Features, nil); at >= 0 {
		return c.Faults[at]
	}
	return nil
}
