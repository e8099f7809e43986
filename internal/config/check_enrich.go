package config

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/switchback-geo/switchback/internal/template"
)

func (c checker) enrich() {
	names := make([]string, len(c.cfg.Enrich))
	for i, step := range c.cfg.Enrich {
		names[i] = step.Name
		path := entry("enrich", i)
		c.stepSet(path+".set", step.Set)
		c.lookups(path, step)
	}
	c.distinct("enrich", "step", "give each step a name of its own", names)
}

// lookups checks the providers of a step.
func (c checker) lookups(path string, step EnrichStep) {
	alone := Provider{HTTP: step.HTTP, SQL: step.SQL}
	switch {
	case !c.usable(path+".http") || !c.usable(path+".sql") || !c.usable(path+".providers"):
	case alone.empty() && len(step.Providers) == 0:
		c.fault(path, "no service is configured", "add http with a url, sql with a query, or a list of providers")
	case !alone.empty() && len(step.Providers) > 0:
		c.fault(path+".providers", "both providers and http or sql are set", "move http or sql into the first entry of providers, or remove one of the two")
	}
	at, total := path+".providers", Duration(0)
	if !alone.empty() {
		total = c.lookup(path, alone)
		at = path + ".http.timeout"
		if step.HTTP == nil {
			at = path + ".sql.timeout"
		}
	}
	names := make([]string, len(step.Providers))
	for i, p := range step.Providers {
		names[i] = p.Name
		total += c.lookup(entry(path+".providers", i), p)
	}
	c.distinct(path+".providers", "provider", "give each provider of a step a name of its own", names)
	if c.usable(path) {
		c.within(at, total)
	}
}

func (p Provider) empty() bool { return p.HTTP == nil && p.SQL == nil }

// lookup checks one provider and returns its time limit.
func (c checker) lookup(path string, p Provider) Duration {
	switch {
	case !c.cfg.origins.readable(path):
		return 0
	case p.empty():
		c.fault(path, "neither http nor sql is set", "add http with a url, or sql with a query")
		return 0
	case p.HTTP != nil && p.SQL != nil:
		c.fault(path+".sql", "both http and sql are set", "keep one of the two, or write two providers")
		return 0
	case p.SQL != nil:
		c.sqlLookup(path+".sql", p.SQL)
		return p.SQL.Timeout
	default:
		c.httpLookup(path+".http", p.HTTP)
		return p.HTTP.Timeout
	}
}

// breaker refuses a breaker that never opens: a window that is too short for that many timeouts, or more failures than
// the breaker counts requests.
func (c checker) breaker(path string, b *Breaker, timeout Duration, connections int) {
	const failures, window = ".breaker.failures", ".breaker.window"
	if b == nil || !c.usable(path+failures) {
		return
	}
	if b.Among > 0 && b.Failures > b.Among && c.usable(path+".breaker.among") {
		c.fault(path+failures, fmt.Sprintf("%d failures cannot be among the last %d requests, so the breaker would never open", b.Failures, b.Among),
			"raise among, or write among: 0 to look at all requests within the window")
		return
	}
	// At most `connections` requests end together. The next ones end one timeout later.
	least := timeout * Duration((b.Failures-1)/max(connections, 1))
	if least >= b.Window && c.usable(path+".timeout", path+".max_connections", path+window) {
		c.fault(path+window, fmt.Sprintf("%s is too short: with %d requests at once, the first and the last of %d timeouts of %s are %s apart, so the breaker could not open when the service hangs", b.Window, connections, b.Failures, timeout, least),
			"lengthen it, or lower timeout or failures")
	}
}

func (c checker) stepSet(path string, set map[string]string) {
	if !c.usable(path) {
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

func (c checker) httpLookup(path string, h *HTTPLookup) {
	if c.usable(path + ".url") {
		_, err := template.ParseURL(h.URL)
		c.template(path+".url", err)
	}
	c.method(path, h)
	c.preset(path, h)
	c.breaker(path, h.Breaker, h.Timeout, h.MaxConnections)
	for i, text := range h.AllowNetworks {
		at := entry(path+".allow_networks", i)
		if _, err := netip.ParsePrefix(text); err != nil && c.usable(at) {
			c.fault(at, show(text)+" is not a network", "write it in CIDR form, such as 10.20.0.0/16, or 127.0.0.1/32 for one address")
		}
	}
}

// method refuses a request that must not be repeated (S3-6).
func (c checker) method(path string, h *HTTPLookup) {
	switch {
	case !c.usable(path+".method", path+".idempotent", path+".body"):
	case h.Method == HTTPMethodPost && !h.Idempotent:
		c.fault(path+".method", "forbidden: retrying a side effect that is not idempotent: a failed POST is repeated, and the file does not declare it idempotent", "add idempotent: true if a repeated request has the effect of one; otherwise this service cannot be asked safely")
	case h.Method == HTTPMethodGet && h.Body != nil:
		c.fault(path+".body", "a GET request has no body", "set method: POST, or put the values into the url")
	default:
		c.body(path+".body", h.Body)
	}
}

// body checks the names in the texts of a body.
func (c checker) body(path string, value any) {
	switch v := value.(type) {
	case string:
		c.text(path, v)
	case []any:
		for i, item := range v {
			c.body(entry(path, i), item)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			c.body(join(path, name), v[name])
		}
	}
}

// preset checks the keys of a WFS or STAC request.
func (c checker) preset(path string, h *HTTPLookup) {
	if h.WFS == nil && h.STAC == nil || !c.usable(path) {
		return
	}
	kind := "stac"
	if h.WFS != nil {
		kind = "wfs"
		c.wfs(path+".wfs", h.WFS)
	} else {
		c.text(path+".stac.collection", h.STAC.Collection)
		c.text(path+".stac.item", h.STAC.Item)
	}
	switch {
	case h.WFS != nil && h.STAC != nil:
		c.fault(path+".stac", "both wfs and stac are set", "keep one of the two")
	case h.Method != HTTPMethodGet:
		c.fault(path+".method", "is "+string(h.Method)+", but "+kind+" requests use GET", "remove method and body")
	case strings.Contains(h.URL, "{") || h.STAC != nil && strings.Contains(h.URL, "?"):
		c.fault(path+".url", "contains more than the address of the service; "+kind+" adds the rest", "write only the address")
	}
}

func (c checker) wfs(path string, w *WFSLookup) {
	switch {
	case w.ID == "" && len(w.Where) == 0:
		c.fault(path, "neither id nor where is set, so no feature is selected", "add id, or where with a property and its value")
	case w.ID != "" && len(w.Where) > 0:
		c.fault(path+".where", "both id and where are set", "keep one of the two")
	}
	c.text(path+".id", w.ID)
	for _, property := range slices.Sorted(maps.Keys(w.Where)) {
		c.text(join(path+".where", property), w.Where[property])
	}
}

// text checks the names in a text.
func (c checker) text(path, text string) {
	_, err := template.Parse(text)
	c.template(path, err)
}

func (c checker) template(path string, err *template.Error) {
	if err != nil {
		c.fault(path, err.Message, err.Fix)
	}
}

func (c checker) sqlLookup(path string, s *SQLLookup) {
	c.breaker(path, s.Breaker, s.Timeout, s.MaxConnections)
	c.dsn(path, s.DSNEnv, s.DSNFile)
	for i, arg := range s.Args {
		at := entry(path+".args", i)
		if property, isProperty := strings.CutPrefix(arg, "properties."); c.usable(at) && arg != "id" && arg != "geometry" && (!isProperty || property == "") {
			c.fault(at, show(arg)+" is not a value of the feature", "write id, geometry or properties.name, without braces")
		}
	}
	if c.usable(path + ".query") {
		c.query(path+".query", s.Query, len(s.Args))
	}
}

// dsn refuses a connection string without a location, or with two.
func (c checker) dsn(path, variable, file string) {
	switch {
	case variable == "" && file == "" && !c.usable(path+".dsn_env", path+".dsn_file"):
	case variable == "" && file == "":
		c.fault(path, "no connection string is configured", "set dsn_env to the name of the variable with the connection string, or dsn_file to a file with it")
	case isConnectionString(file): // not shown, because it contains the password
		c.fault(path+".dsn_file", "is a connection string, not the name of a file", "write the name of a file with the connection string; the pipeline file must not contain passwords")
	default:
		c.notBoth(path, "dsn_env", "dsn_file")
	}
}

// isConnectionString reports whether text is itself a connection string: a PostgreSQL URL, or keywords with a password.
func isConnectionString(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://") || strings.Contains(text, "password=")
}

// parameter matches a parameter of a query.
var parameter = regexp.MustCompile(`\$([0-9]+)`)

// query refuses a query whose parameters do not match the number of arguments.
func (c checker) query(path, query string, args int) {
	if strings.HasSuffix(strings.TrimSpace(query), ";") {
		c.fault(path, "ends with a semicolon", "write one select without it")
		return
	}
	for _, brace := range []string{"{id}", "{properties.", "{geometry}"} {
		if strings.Contains(query, brace) {
			c.fault(path, "has "+brace+" in it, and values never go into the text of a query", "write $1 and list the value in args")
			return
		}
	}
	used := map[int]bool{}
	for _, match := range parameter.FindAllStringSubmatch(query, -1) {
		n, err := strconv.Atoi(match[1])
		if err != nil || n < 1 || n > args {
			c.fault(path, fmt.Sprintf("has the parameter %s, and args has %d entries", match[0], args), "add the value to args, or correct the number")
			return
		}
		used[n] = true
	}
	for n := 1; n <= args; n++ {
		if !used[n] {
			c.fault(path, fmt.Sprintf("does not use $%d, which args lists", n), "use it, or remove the entry")
			return
		}
	}
}
