package config

import (
	"errors"
	"strings"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// transform asks pkg/transform whether it can run the mapping, and gives its faults their places
// in the file. A fault of a value that could not even be read is left out: it is reported already.
func (c checker) transform() {
	if !c.cfg.origins.intact("transform") {
		return
	}
	err := transform.Check(c.cfg.Transform)
	var faults *transform.ConfigError
	switch {
	case err == nil:
	case errors.As(err, &faults):
		for _, f := range faults.Faults {
			path := join("transform", f.Path)
			if f.Path == "min_decimals" { // where the file has it
				path = "pipeline.tolerance.min_decimals"
			}
			if c.sound(path) {
				c.fault(path, f.Message, f.Fix)
			}
		}
	default:
		c.fault("transform", err.Error(), "correct the mapping")
	}
}

// Mapping is the transform part, ready for transform.New: it knows the line of each of its rules,
// so that an error of a record can name it. The reference sets are still to be added.
func (c Config) Mapping() transform.Config {
	out := c.Transform
	if c.origins == nil {
		return out
	}
	out.Lines = map[string]int{}
	for path, at := range c.origins.places {
		if place, found := strings.CutPrefix(path, "transform."); found && at.keyLine > 0 {
			out.Lines[place] = at.keyLine
		}
	}
	return out
}
