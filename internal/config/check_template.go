package config

import (
	"net/url"
	"strings"

	"github.com/switchback-geo/switchback/internal/urlpath"
)

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
	}
	if fault := urlpath.Fault(u.EscapedPath()); fault != "" {
		return "has a path that " + fault, "write the path out"
	}
	return "", ""
}

// fillTemplate puts a letter in place of each {name}, and refuses what is no name of a value of a
// feature, and a name where it could change the host: a feature must not choose who is asked.
func fillTemplate(template string) (plain, message, fix string) {
	var b strings.Builder
	message, fix = eachName(template, func(before, name string) (string, string) {
		b.WriteString(before)
		if name == "" {
			return "", ""
		}
		if !hostIsClosed(b.String()) {
			return show("{"+name+"}") + " stands in the host of the URL", "use braces in the path or the query only"
		}
		b.WriteByte('x')
		return "", ""
	})
	return b.String(), message, fix
}

// textProblem says what is wrong with the names in a text, or "".
func textProblem(template string) (message, fix string) {
	return eachName(template, func(string, string) (string, string) { return "", "" })
}

// eachName calls visit with each text before a brace and the name in it, and at last with what is behind, without a name.
// It ends at the first problem.
func eachName(template string, visit func(before, name string) (message, fix string)) (message, fix string) {
	const names = "write {id} or {properties.name}"
	for rest := template; ; {
		before, after, found := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return "has a } without a {", names
		}
		if !found {
			return visit(before, "")
		}
		name, tail, closed := strings.Cut(after, "}")
		property, isProperty := strings.CutPrefix(name, "properties.")
		switch {
		case !closed:
			return "has a { without a }", names
		case name != "id" && (!isProperty || property == "") || strings.Contains(name, "{"):
			return show("{"+name+"}") + " names nothing of a feature", names
		}
		if message, fix := visit(before, name); message != "" {
			return message, fix
		}
		rest = tail
	}
}

// hostIsClosed reports whether the host of a URL is over at the end of text.
func hostIsClosed(text string) bool {
	_, afterScheme, ok := strings.Cut(text, "://")
	return ok && strings.ContainsAny(afterScheme, "/?")
}
