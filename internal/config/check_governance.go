package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// governance holds the rules about marks together.
func (c checker) governance() {
	g := c.cfg.Governance
	for _, m := range []struct {
		path string
		Mark
	}{{"governance.care", g.Care}, {"governance.sovereignty", g.Sovereignty}, {"governance.lineage", g.Lineage}} {
		if c.sound(m.path) {
			c.mark(m.path, m.Mark)
		}
	}
	if g.On() && c.sound("delivery") && c.cfg.Delivery != DeliveryExactlyOnce {
		c.fault("delivery", fmt.Sprintf("%s cannot keep the governance ledger: a crash would fork its chain", c.cfg.Delivery),
			"write exactly_once, or remove the marks under governance")
	}
	if g.EscalateAfterAttempts > 0 && !g.Care.Read() && !g.Sovereignty.Read() {
		c.fault("governance.escalate_after_attempts", "no record has a CARE or sovereignty mark",
			"say where they are read: governance.care or governance.sovereignty with header or field")
	}
	if g.Energy.GridGramsPerKWh > 0 && g.Energy.WattsPerCPU == 0 {
		c.fault("governance.energy.grid_grams_per_kwh", "without watts_per_cpu there is no energy to multiply it with", "set governance.energy.watts_per_cpu")
	}
}

func (c checker) mark(path string, m Mark) {
	if !m.Read() && (m.Required || len(m.Allow)+len(m.Deny) > 0) {
		c.fault(path, "has rules and nothing to hold them against", "say where the mark is read: header or field")
	}
	if strings.HasPrefix(m.Header, "switchback-") {
		c.fault(path+".header", show(m.Header)+" is a control header, which is read anyway", "name the header that producers send, or remove it")
	}
	if name, ok := strings.CutPrefix(m.Field, "properties."); m.Field != "" && (!ok || name == "") {
		c.fault(path+".field", show(m.Field)+" names no property", "write it with its place, as properties.care")
	}
	for list, values := range map[string][]string{"allow": m.Allow, "deny": m.Deny} {
		for i, value := range values {
			if value == "" || strings.TrimSpace(value) != value || strings.Contains(value, ",") {
				c.fault(path+"."+list+"["+strconv.Itoa(i)+"]", show(value)+" cannot be one value: values are separated by commas and trimmed", "write one value")
			}
		}
	}
	for i, value := range m.Deny {
		if slices.Contains(m.Allow, value) {
			c.fault(path+".deny["+strconv.Itoa(i)+"]", show(value)+" is allowed, too", "keep it in one of the two lists")
		}
	}
}
