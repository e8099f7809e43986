package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

func (c checker) enrich() {
	names := map[string]int{}
	for i, step := range c.cfg.Enrich {
		path := "enrich[" + strconv.Itoa(i) + "]"
		if before, doubled := names[step.Name]; doubled && c.sound(path+".name") {
			c.fault(path+".name", fmt.Sprintf("%s is the name of step %d too", show(step.Name), before+1), "give each step a name of its own")
		} else {
			names[step.Name] = i
		}
		c.stepName(path, step)
		c.stepSet(path+".set", step.Set)
		c.lookups(path, step)
	}
}

// lookups checks who can answer for a step.
func (c checker) lookups(path string, step EnrichStep) {
	alone := Provider{HTTP: step.HTTP, SQL: step.SQL}
	switch {
	case !c.sound(path+".http") || !c.sound(path+".sql") || !c.sound(path+".providers"):
	case alone.empty() && len(step.Providers) == 0:
		c.fault(path, "has nobody to ask", "add http with a url, sql with a query, or a list of providers")
	case !alone.empty() && len(step.Providers) > 0:
		c.fault(path+".providers", "stands beside http or sql", "make that the first entry of providers, or remove one of the two")
	}
	var total Duration
	if !alone.empty() {
		total += c.lookup(path, alone)
	}
	names := map[string]int{}
	for i, p := range step.Providers {
		at := path + ".providers[" + strconv.Itoa(i) + "]"
		if before, doubled := names[p.Name]; doubled && c.sound(at+".name") {
			c.fault(at+".name", fmt.Sprintf("%s is the name of provider %d too", show(p.Name), before+1), "give each provider of a step a name of its own")
		} else {
			names[p.Name] = i
		}
		total += c.lookup(at, p)
	}
	if limit := c.cfg.Engine.HandlerTimeout; total > limit && c.sound(path, "engine.handler_timeout") {
		at := path + ".providers"
		switch {
		case step.HTTP != nil:
			at = path + ".http.timeout"
		case step.SQL != nil:
			at = path + ".sql.timeout"
		}
		c.fault(at, fmt.Sprintf("%s is longer than one record may take (engine.handler_timeout %s)", total, limit), "shorten it, or lengthen engine.handler_timeout")
	}
}

func (p Provider) empty() bool { return p.HTTP == nil && p.SQL == nil }

// lookup checks one provider and gives its time limit.
func (c checker) lookup(path string, p Provider) Duration {
	switch {
	case !c.sound(path):
		return 0
	case p.empty():
		c.fault(path, "says not how it is asked", "add http with a url, or sql with a query")
		return 0
	case p.HTTP != nil && p.SQL != nil:
		c.fault(path+".sql", "stands beside http", "keep one of the two, or write two providers")
		return 0
	case p.SQL != nil:
		c.sqlLookup(path+".sql", p.SQL)
		return p.SQL.Timeout
	default:
		c.httpLookup(path+".http", p.HTTP)
		return p.HTTP.Timeout
	}
}

// breaker refuses a window that so many timeouts do not fit into, and more failures than requests are looked at: a breaker that
// would never open.
func (c checker) breaker(path string, b *Breaker, timeout Duration, connections int) {
	if b != nil && b.Among > 0 && b.Failures > b.Among && c.sound(path+".breaker.failures", path+".breaker.among") {
		c.fault(path+".breaker.failures", fmt.Sprintf("%d failures cannot be among the last %d requests, so the breaker would never open", b.Failures, b.Among),
			"raise among, or write among: 0 to look at all requests within the window")
		return
	}
	if b == nil || !c.sound(path+".timeout", path+".max_connections", path+".breaker.failures", path+".breaker.window") {
		return
	}
	// So many requests end together, and the next ones a timeout later.
	if least := timeout * Duration((b.Failures-1)/max(connections, 1)); least >= b.Window {
		c.fault(path+".breaker.window", fmt.Sprintf("%s is too short: with %d requests at once, the first and the last of %d timeouts of %s are %s apart, so the breaker could not open when the service hangs", b.Window, connections, b.Failures, timeout, least),
			"lengthen it, or lower timeout or failures")
	}
}

func (c checker) stepName(path string, step EnrichStep) {
	if c.sound(path+".name") && (!isTopicText(step.Name) || strings.Contains(step.Name, ".")) {
		c.fault(path+".name", show(step.Name)+" is not a step name", "use letters, digits, underscore and hyphen")
	}
}

func (c checker) stepSet(path string, set map[string]string) {
	if !c.sound(path) {
		return
	}
	if len(set) == 0 {
		c.fault(path, "sets nothing", "add a property and a JSON pointer, such as place_name: /name")
	}
	for _, property := range slices.Sorted(maps.Keys(set)) {
		child := join(path, property)
		if property == "" {
			c.fault(child, "a property without a name", "write the name of the property to set")
		}
		if !jsontext.Pointer(set[property]).IsValid() {
			c.fault(child, show(set[property])+" is not a JSON pointer (RFC 6901)", `begin it with /, as in /name or /places/0/name; "" is the whole answer`)
		}
	}
}
