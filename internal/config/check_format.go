package config

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/envelope"
)

// format refuses what would be ignored, and an input that could not be read.
func (c checker) format() {
	if !c.sound("source") {
		return
	}
	c.formatKeys()
	c.collections()
	s := c.cfg.Source
	noSchemas := !c.cfg.SchemaRegistry.Enabled() && len(s.Avro.Schemas) == 0 && c.sound("schema_registry")
	if s.reads(envelope.Debezium) && s.Debezium.Serialization == envelope.SerializationAvro && noSchemas {
		c.fault("source.debezium.serialization", "avro needs the schemas that the connector writes with, and there are none",
			"set schema_registry.url, or list the files in source.avro.schemas")
	}
}

// output refuses Avro that nobody could read, or that would not say where its coordinates are.
func (c checker) output() {
	o := c.cfg.Output
	if !c.sound("output") {
		return
	}
	if o.Format != OutputAvro {
		for key, given := range map[string]bool{
			"framing": o.Avro.Framing != FramingConfluent, "register": !o.Avro.Register, "subject": o.Avro.Subject != o.Topic+"-value",
		} {
			if given {
				c.fault("output.avro."+key, "has no effect on output.format: "+string(o.Format), "set output.format: avro, or remove it")
			}
		}
		return
	}
	if o.Avro.Framing == FramingConfluent && !c.cfg.SchemaRegistry.Enabled() && c.sound("schema_registry") {
		c.fault("output.format", "avro in Confluent's wire format needs a schema registry, and there is none",
			"set schema_registry.url, or output.avro.framing: single_object")
	}
	const target = "transform.geometry.target_crs"
	system, err := crs.Lookup(c.cfg.Transform.Geometry.TargetCRS)
	if c.sound(target) && err == nil && system.Code() != "EPSG:4326" && system.Code() != "OGC:CRS84" {
		c.fault(target, show(c.cfg.Transform.Geometry.TargetCRS)+" cannot be written as avro: the published event is in WGS 84 and has no place to say otherwise",
			"set EPSG:4326, or output.format: geojson")
	}
}

// formatKeys refuses keys of a format that never comes in: who wrote them expects something of them.
func (c checker) formatKeys() {
	s := c.cfg.Source
	rows := s.mayReadAvro() || s.reads(envelope.Debezium)
	for _, group := range []struct {
		path, fix string
		used      bool
	}{
		{"source.split", "set source.format to geojson or jsonfg", s.mayReadJSONFG() || s.reads(envelope.GeoJSON)},
		{"source.row", "set source.format to avro or debezium", rows},
		{"source.jsonfg", "set source.format: jsonfg", s.mayReadJSONFG()},
		{"source.cloudevents", "set source.format: cloudevents", s.Format == envelope.CloudEvents},
		{"source.debezium", "set source.format: debezium", s.reads(envelope.Debezium)},
		{"source.avro", "set source.format: avro", s.mayReadAvro()},
	} {
		if !group.used && c.changed(group.path) {
			c.fault(group.path, "has no effect on source.format: "+string(s.Format), group.fix+", or remove it")
		}
	}
}

// changed reports whether a part of source differs from its defaults: to write them out, as the reference file does, is
// legal.
func (c checker) changed(path string) bool {
	var d Source
	applyDefaults(reflect.ValueOf(&d).Elem())
	s := c.cfg.Source
	switch path {
	case "source.split":
		return s.Split != d.Split
	case "source.row":
		return s.Row != d.Row
	case "source.jsonfg":
		return s.JSONFG != d.JSONFG
	case "source.cloudevents":
		return s.CloudEvents != d.CloudEvents
	case "source.debezium":
		return s.Debezium != d.Debezium
	default:
		return len(s.Avro.Schemas) > 0
	}
}

// registry checks the address of the schema registry and who it is shown.
func (c checker) registry() {
	const path = "schema_registry"
	r := c.cfg.SchemaRegistry
	if !c.sound(path) {
		return
	}
	given := map[string]string{
		"username": r.Username, "username_env": r.UsernameEnv, "password_env": r.PasswordEnv, "password_file": r.PasswordFile,
		"token_env": r.TokenEnv, "token_file": r.TokenFile,
	}
	if !r.Enabled() {
		for _, key := range []string{"username", "username_env", "password_env", "password_file", "token_env", "token_file"} {
			if given[key] != "" {
				c.fault(path+"."+key, "has no effect without a registry", "set schema_registry.url or remove it")
			}
		}
		return
	}
	c.registryURLs(path+".url", r)
	c.registryLogin(path, given)
	c.variableNames(path, given, "username_env", "password_env", "token_env")
	c.certificate(path+".tls", r.TLS.CertFile, r.TLS.KeyFile)
}

func (c checker) registryURLs(path string, r SchemaRegistry) {
	secure := true
	for i, text := range r.URLs() {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			c.fault(path, "server "+strconv.Itoa(i+1)+" is no URL of http or https", "write such as https://registry:8081")
			return
		case u.User != nil: // not shown: it is the secret
			c.fault(path, "has a user in it", "name the secrets with username and password_env, or token_env")
			return
		case u.RawQuery != "" || u.Fragment != "":
			c.fault(path, "server "+strconv.Itoa(i+1)+" has a query or a fragment", "write scheme, host, port and path only")
			return
		}
		secure = secure && u.Scheme == "https"
	}
	if r.TLS != (RegistryTLS{}) && !secure {
		c.fault(path[:strings.LastIndexByte(path, '.')]+".tls", "has no effect on http", "write https in schema_registry.url, or remove it")
	}
}

// registryLogin demands user and password, or a token, or nothing, each from one place.
func (c checker) registryLogin(path string, given map[string]string) {
	user := given["username"] != "" || given["username_env"] != ""
	password := given["password_env"] != "" || given["password_file"] != ""
	token := given["token_env"] != "" || given["token_file"] != ""
	switch {
	case token && (user || password):
		c.fault(path, "has a token and a user", "keep one of the two")
	case user != password:
		c.fault(path, "has a user without a password, or a password without a user", "set username or username_env, and password_env or password_file")
	}
	for _, pair := range [][2]string{{"username", "username_env"}, {"password_env", "password_file"}, {"token_env", "token_file"}} {
		if given[pair[0]] != "" && given[pair[1]] != "" {
			c.fault(path+"."+pair[1], "both "+pair[0]+" and "+pair[1]+" are set", "keep one of the two")
		}
	}
}
