package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/envelope"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// source refuses keys that have no effect, and a source that cannot be decoded.
func (c checker) source() {
	s := c.cfg.Source
	if !c.usable("source") {
		return
	}
	for _, group := range []struct {
		key, fix string
		used     bool
	}{
		{"split", "set source.format to geojson or jsonfg", s.mayReadJSONFG() || s.reads(envelope.GeoJSON)},
		{"row", "set source.format to avro or debezium", s.mayReadAvro() || s.reads(envelope.Debezium)},
		{"jsonfg", "set source.format: jsonfg", s.mayReadJSONFG()},
		{"cloudevents", "set source.format: cloudevents", s.Format == envelope.CloudEvents},
		{"debezium", "set source.format: debezium", s.reads(envelope.Debezium)},
		{"avro", "set source.format: avro", s.mayReadAvro()},
	} {
		if !group.used && c.changed("source."+group.key) {
			c.fault("source."+group.key, "has no effect on source.format: "+string(s.Format), group.fix+", or remove it")
		}
	}
	if s.Split != envelope.SplitFeatures && s.Collections == CollectionsAllOrNothing {
		c.fault("source.collections", "has no effect on source.split: "+string(s.Split), "set source.split: features, or remove it")
	}
	noSchemas := !c.cfg.SchemaRegistry.Enabled() && len(s.Avro.Schemas) == 0 && c.usable("schema_registry")
	if s.reads(envelope.Debezium) && s.Debezium.Serialization == envelope.SerializationAvro && noSchemas {
		c.fault("source.debezium.serialization", "avro needs the schemas that the connector writes with, and there are none",
			"set schema_registry.url, or list the files in source.avro.schemas")
	}
}

// output refuses Avro output that no consumer can read, or that cannot record its coordinate system.
func (c checker) output() {
	const avro, target = "output.avro.", "transform.geometry.target_crs"
	o, geometry := c.cfg.Output, c.cfg.Transform.Geometry
	if !c.usable("output") {
		return
	}
	if o.Format != OutputAvro {
		for _, key := range []string{"framing", "register", "subject"} {
			if c.changed(avro+key) && (key != "subject" || o.Avro.Subject != o.Topic+"-value") {
				c.fault(avro+key, "has no effect on output.format: "+string(o.Format), "set output.format: avro, or remove it")
			}
		}
		return
	}
	if o.Avro.Framing == FramingConfluent && !c.cfg.SchemaRegistry.Enabled() && c.usable("schema_registry") {
		c.fault("output.format", "avro in Confluent's wire format needs a schema registry, and there is none",
			"set schema_registry.url, or output.avro.framing: single_object")
	}
	system, err := crs.Lookup(geometry.TargetCRS)
	if c.usable(target) && err == nil && system.Code() != "EPSG:4326" && system.Code() != "OGC:CRS84" {
		c.fault(target, show(geometry.TargetCRS)+" cannot be written as avro: the published event is in WGS 84 and has no place to say otherwise",
			"set EPSG:4326, or output.format: geojson")
	}
}

// registry checks the URL of the schema registry and the credentials for it.
func (c checker) registry() {
	const path = "schema_registry"
	keys := []string{"username", "username_env", "password_env", "password_file", "token_env", "token_file"}
	switch {
	case !c.usable(path):
		return
	case !c.cfg.SchemaRegistry.Enabled():
		c.noEffect(path, "without a registry", "set schema_registry.url or remove it", keys...)
		return
	}
	c.registryURLs(path)
	c.certificate(path + ".tls")
	for pair := range slices.Chunk(keys, 2) {
		c.notBoth(path, pair[0], pair[1])
	}
	either := func(one, other int) bool { return c.given(path+"."+keys[one]) || c.given(path+"."+keys[other]) }
	user, password, token := either(0, 1), either(2, 3), either(4, 5)
	switch {
	case token && (user || password):
		c.fault(path, "has a token and a user", "keep one of the two")
	case user != password:
		c.fault(path, "has a user without a password, or a password without a user", "set username or username_env, and password_env or password_file")
	}
}

func (c checker) registryURLs(path string) {
	secure, r := true, c.cfg.SchemaRegistry
	for i, text := range r.URLs() {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			c.fault(path+".url", fmt.Sprintf("server %d is not an http or https URL", i+1), "write for example https://registry:8081")
			return
		case u.User != nil: // not shown, because it contains the secret
			c.fault(path+".url", "has a user in it", "name the secrets with username and password_env, or token_env")
			return
		case u.RawQuery != "" || u.Fragment != "":
			c.fault(path+".url", fmt.Sprintf("server %d has a query or a fragment", i+1), "write scheme, host, port and path only")
			return
		}
		secure = secure && u.Scheme == "https"
	}
	if r.TLS != (RegistryTLS{}) && !secure {
		c.fault(path+".tls", "has no effect on http", "write https in schema_registry.url, or remove it")
	}
}

// governance checks the rules about marks.
func (c checker) governance() {
	g := c.cfg.Governance
	for path, m := range map[string]Mark{"governance.care": g.Care, "governance.sovereignty": g.Sovereignty, "governance.lineage": g.Lineage} {
		if c.cfg.origins.readable(path) {
			c.mark(path, m)
		}
	}
	if g.On() && c.usable("delivery") && c.cfg.Delivery != DeliveryExactlyOnce {
		c.fault("delivery", fmt.Sprintf("%s cannot keep the governance ledger: a crash would fork its chain", c.cfg.Delivery),
			"write exactly_once, or remove the marks under governance")
	}
	if g.EscalateAfterAttempts > 0 && !g.Care.Read() && !g.Sovereignty.Read() {
		c.fault("governance.escalate_after_attempts", "has no effect: neither CARE nor sovereignty marks are read",
			"set header or field under governance.care or governance.sovereignty")
	}
	if g.Energy.GridGramsPerKWh > 0 && g.Energy.WattsPerCPU == 0 {
		c.fault("governance.energy.grid_grams_per_kwh", "has no effect without watts_per_cpu", "set governance.energy.watts_per_cpu")
	}
}

func (c checker) mark(path string, m Mark) {
	if c.usable(path) && !m.Read() && (m.Required || len(m.Allow)+len(m.Deny) > 0) {
		c.fault(path, "has rules, but no header or field that the mark is read from", "set header or field")
	}
	if strings.HasPrefix(m.Header, "switchback-") {
		c.fault(path+".header", show(m.Header)+" is a control header, which Switchback reads itself", "name a header that producers send, or remove it")
	}
	for list, values := range map[string][]string{".allow": m.Allow, ".deny": m.Deny} {
		for i, value := range values {
			switch at := entry(path+list, i); {
			case value == "" || strings.TrimSpace(value) != value || strings.Contains(value, ","):
				c.fault(at, show(value)+" cannot be one value: values are separated by commas and trimmed", "write one value")
			case list == ".deny" && slices.Contains(m.Allow, value):
				c.fault(at, show(value)+" is also in allow", "keep it in one of the two lists")
			}
		}
	}
}

// tolerance refuses codes in pause_on that no failure has.
func (c checker) tolerance() {
	codes := texts(classify.Codes())
	for i, code := range c.cfg.Pipeline.Tolerance.PauseOn {
		path := entry("pipeline.tolerance.pause_on", i)
		if slices.Contains(codes, string(code)) || !c.usable(path) {
			continue
		}
		fix := "write a code from the header switchback-error-code of a dead letter, or remove it"
		if near := Nearest(string(code), codes); near != "" {
			fix = "did you mean " + near + "?"
		}
		c.fault(path, show(string(code))+" is not a failure code", fix)
	}
}

// transform asks pkg/transform whether it can run the mapping, and adds the faults at their positions in the file. It
// leaves out faults of values that could not be read, because the decoder already reports them.
func (c checker) transform() {
	if !c.cfg.origins.readable("transform") {
		return
	}
	refused, ok := errors.AsType[*transform.ConfigError](transform.Check(c.cfg.Transform))
	if !ok {
		return
	}
	for _, f := range refused.Faults {
		path := join("transform", f.Path)
		if f.Path == "min_decimals" { // the key that holds it in the file
			path = "pipeline.tolerance.min_decimals"
		}
		if c.usable(path) {
			c.fault(path, f.Message, f.Fix)
		}
	}
}

// Mapping returns the transform section for transform.New, with the line number of each rule. Errors about a record can
// then name the line. The caller adds the reference sets.
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
