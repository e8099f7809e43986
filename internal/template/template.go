package template

import (
	"fmt"
	"net/url"
	"strings"
)

// Part is literal text, or the name of a value if Name is set.
type Part struct {
	Literal string
	Name    string // id, or properties. and the name of a property
	Query   bool   // the part is in the query of a URL
}

// Error describes a fault of a template and its correction. Message ends a sentence that begins with the key of the
// template.
type Error struct{ Message, Fix string }

func (e *Error) Error() string { return e.Message + "; " + e.Fix }

// Parse splits a text at its braces.
func Parse(text string) ([]Part, *Error) {
	const names = "write {id} or {properties.name}"
	var parts []Part
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return nil, &Error{"has a } without a {", names}
		}
		if before != "" {
			parts = append(parts, Part{Literal: before})
		}
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		property, isProperty := strings.CutPrefix(name, "properties.")
		switch {
		case !closed:
			return nil, &Error{"has a { without a }", names}
		case name != "id" && (!isProperty || property == "") || strings.Contains(name, "{"):
			return nil, &Error{quote(name) + " names nothing of a feature", names}
		}
		parts = append(parts, Part{Name: name})
		rest = tail
	}
	return parts, nil
}

// ParseURL splits a URL at its braces. It accepts braces in the path and in the query. It refuses braces in the host,
// because a feature must not choose the server.
func ParseURL(text string) ([]Part, *Error) {
	parts, err := Parse(text)
	if err != nil {
		return nil, err
	}
	plain := ""
	for i, p := range parts {
		if p.Name == "" {
			plain += p.Literal
			continue
		}
		if _, behind, ok := strings.Cut(plain, "://"); !ok || !strings.ContainsAny(behind, "/?") {
			return nil, &Error{quote(p.Name) + " is in the host of the URL", "use braces in the path or the query only"}
		}
		parts[i].Query = strings.Contains(plain, "?")
		plain += "x"
	}
	return parts, urlFault(plain)
}

// urlFault returns the fault of a URL, or nil.
func urlFault(plain string) *Error {
	u, err := url.Parse(plain)
	switch {
	case err != nil:
		return &Error{"is not a URL", "write it as http://host:port/path?key={properties.name}"}
	case u.Scheme != "http" && u.Scheme != "https":
		return &Error{"is neither http nor https", "begin it with http:// or https://"}
	case u.User != nil:
		return &Error{"secrets are not allowed in the file, and this URL has a user", "remove user and password from the URL"}
	case u.Hostname() == "":
		return &Error{"has no host", "write it as http://host:port/path"}
	case strings.Contains(plain, "#"):
		return &Error{"has a fragment (#), which is never sent", "remove it"}
	}
	if fault := PathFault(u.EscapedPath()); fault != "" {
		return &Error{"has a path that " + fault, "write the path out"}
	}
	return nil
}

// longest is the number of runes of a name that a message shows.
const longest = 60

func quote(name string) string {
	if runes := []rune(name); len(runes) > longest {
		name = string(runes[:longest]) + "…"
	}
	return fmt.Sprintf("%q", "{"+name+"}")
}
