package config

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/internal/template"
)

func (c checker) httpLookup(path string, h *HTTPLookup) {
	if c.sound(path + ".url") {
		_, err := template.ParseURL(h.URL)
		c.template(path+".url", err)
	}
	c.method(path, h)
	c.preset(path, h)
	c.breaker(path, h.Breaker, h.Timeout, h.MaxConnections)
	for i, text := range h.AllowNetworks {
		at := path + ".allow_networks[" + strconv.Itoa(i) + "]"
		if _, err := netip.ParsePrefix(text); err != nil && c.sound(at) {
			c.fault(at, show(text)+" is not a network", "write it in CIDR form, such as 10.20.0.0/16, or 127.0.0.1/32 for one address")
		}
	}
}

// method refuses to repeat what may not be repeated (S3-6).
func (c checker) method(path string, h *HTTPLookup) {
	switch {
	case !c.sound(path+".method", path+".idempotent", path+".body"):
	case h.Method == HTTPMethodPost && !h.Idempotent:
		c.fault(path+".method", "forbidden: retrying a side effect that is not idempotent: POST is repeated when it fails, and nothing says that the service bears it", "add idempotent: true if one request that comes twice does what it does once; else there is no safe way to ask this service")
	case h.Method == HTTPMethodGet && h.Body != nil:
		c.fault(path+".body", "a GET sends no body", "set method: POST, or put the values into the url")
	case h.Body != nil:
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
			c.body(path+"["+strconv.Itoa(i)+"]", item)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			c.body(join(path, name), v[name])
		}
	}
}

// preset checks the question of a WFS or a STAC API.
func (c checker) preset(path string, h *HTTPLookup) {
	if h.WFS == nil && h.STAC == nil || !c.sound(path) {
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
		c.fault(path+".stac", "stands beside wfs", "keep one of the two")
	case h.Method != HTTPMethodGet:
		c.fault(path+".method", "is "+string(h.Method)+", and "+kind+" asks by GET", "remove method and body")
	case strings.Contains(h.URL, "{") || h.STAC != nil && strings.Contains(h.URL, "?"):
		c.fault(path+".url", "is more than the address of the service, and "+kind+" makes the rest", "write the address only")
	}
}

func (c checker) wfs(path string, w *WFSLookup) {
	switch {
	case w.ID == "" && len(w.Where) == 0:
		c.fault(path, "says not which feature is wanted", "add id, or where with a property and its value")
	case w.ID != "" && len(w.Where) > 0:
		c.fault(path+".where", "stands beside id", "keep one of the two")
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
