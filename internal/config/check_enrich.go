package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
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
		c.stepURL(path+".http.url", step.HTTP.URL)
		c.stepSet(path+".set", step.Set)
		c.breaker(path+".http", step.HTTP)
		if step.HTTP.Timeout > c.cfg.Engine.HandlerTimeout && c.sound(path+".http.timeout", "engine.handler_timeout") {
			c.fault(path+".http.timeout", fmt.Sprintf("%s is longer than one record may take (engine.handler_timeout %s)", step.HTTP.Timeout, c.cfg.Engine.HandlerTimeout),
				"shorten it, or lengthen engine.handler_timeout")
		}
	}
}

// breaker refuses a window that so many timeouts do not fit into: the breaker of a service that hangs would never open.
func (c checker) breaker(path string, h HTTPStep) {
	if h.Breaker == nil || !c.sound(path+".timeout", path+".max_connections", path+".breaker.failures", path+".breaker.window") {
		return
	}
	// max_connections requests end together, and the next ones a timeout later.
	if least := h.Timeout * Duration((h.Breaker.Failures-1)/h.MaxConnections); least >= h.Breaker.Window {
		c.fault(path+".breaker.window", fmt.Sprintf("%s is too short: with %d requests at once, the first and the last of %d timeouts of %s are %s apart, so the breaker could not open when the service hangs", h.Breaker.Window, h.MaxConnections, h.Breaker.Failures, h.Timeout, least),
			"lengthen it, or lower http.timeout or failures")
	}
}

func (c checker) stepName(path string, step EnrichStep) {
	if c.sound(path+".name") && (!isTopicText(step.Name) || strings.Contains(step.Name, ".")) {
		c.fault(path+".name", show(step.Name)+" is not a step name", "use letters, digits, underscore and hyphen")
	}
}

func (c checker) stepURL(path, template string) {
	if !c.sound(path) {
		return
	}
	if message, fix := urlProblem(template); message != "" {
		c.fault(path, message, fix)
	}
}

// urlProblem says what is wrong with the template of a URL, or "".
func urlProblem(template string) (message, fix string) {
	plain, message, fix := fillTemplate(template)
	if message != "" {
		return message, fix
	}
	u, err := url.Parse(plain)
	switch {
	case err != nil:
		return "is not a URL", "write it as http://host:port/path?key={properties.name}"
	case u.Scheme != "http" && u.Scheme != "https":
		return "is neither http nor https", "begin it with http:// or https://"
	case u.User != nil:
		return "secrets are not allowed in the file, and this URL has a user", "remove user and password from the URL"
	case u.Host == "" || u.Hostname() == "":
		return "has no host", "write it as http://host:port/path"
	case u.Fragment != "" || strings.Contains(plain, "#"):
		return "has a fragment (#), which is never sent", "remove it"
	case hasDotSegment(u.EscapedPath()):
		return "has . or .. as a part of its path, which servers resolve each in their own way", "write the path out"
	}
	return "", ""
}

func hasDotSegment(path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool { return s == "." || s == ".." })
}

// fillTemplate puts a letter in place of each {name}, and refuses what is no name of a value of a
// feature, and a name where it could change the host: a feature must not choose who is asked.
func fillTemplate(template string) (plain, message, fix string) {
	const names = "write {id} or {properties.name}"
	var b strings.Builder
	rest := template
	for {
		before, after, found := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return "", "has a } without a {", names
		}
		b.WriteString(before)
		if !found {
			return b.String(), "", ""
		}
		name, tail, closed := strings.Cut(after, "}")
		property, isProperty := strings.CutPrefix(name, "properties.")
		switch {
		case !closed:
			return "", "has a { without a }", names
		case name != "id" && (!isProperty || property == "") || strings.Contains(name, "{"):
			return "", show("{"+name+"}") + " names nothing of a feature", names
		case !hostIsClosed(b.String()):
			return "", show("{"+name+"}") + " stands in the host of the URL", "use braces in the path or the query only"
		}
		b.WriteByte('x')
		rest = tail
	}
}

// hostIsClosed reports whether the host of a URL is over at the end of text.
func hostIsClosed(text string) bool {
	_, afterScheme, ok := strings.Cut(text, "://")
	return ok && strings.ContainsAny(afterScheme, "/?")
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
		if !isPointer(set[property]) {
			c.fault(child, show(set[property])+" is not a JSON pointer (RFC 6901)", `begin it with /, as in /name or /places/0/name; "" is the whole answer`)
		}
	}
}

// isPointer reports whether text is a JSON pointer of RFC 6901, section 3.
func isPointer(text string) bool {
	if text != "" && text[0] != '/' {
		return false
	}
	for rest := text; ; {
		i := strings.IndexByte(rest, '~')
		if i < 0 {
			return true
		}
		if i+1 >= len(rest) || rest[i+1] != '0' && rest[i+1] != '1' {
			return false
		}
		rest = rest[i+2:]
	}
}
