package config

import (
	"slices"
	"strconv"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// tolerance refuses to wait for a code that no failure has.
func (c checker) tolerance() {
	codes := texts(classify.Codes())
	for i, code := range c.cfg.Pipeline.Tolerance.HoldOn {
		path := "pipeline.tolerance.hold_on[" + strconv.Itoa(i) + "]"
		if slices.Contains(codes, string(code)) || !c.sound(path) {
			continue
		}
		fix := "write the code that a dead letter has in its header switchback-error-code, or remove it"
		if near := Nearest(string(code), codes); near != "" {
			fix = "did you mean " + near + "?"
		}
		c.fault(path, show(string(code))+" is no code of a failure", fix)
	}
}
