package config

import (
	"fmt"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// checker checks a decoded configuration, with defaults filled in, against the rules that go beyond the form of a single
// value. It skips a rule if a value that the rule needs could not be read.
type checker struct {
	cfg      *Config
	faults   *Faults
	defaults *Config // every key with its default value
}

func check(cfg *Config, faults *Faults) {
	c := checker{cfg, faults, &Config{}}
	applyDefaults(reflect.ValueOf(c.defaults).Elem())
	c.retryPolicy()
	c.tolerance()
	c.kafka()
	c.topics()
	c.source()
	c.output()
	c.registry()
	c.transform()
	c.enrich()
	c.sink()
	c.governance()
	c.replayer()
	c.engine()
}

// fault adds a fault at the position of path.
func (c checker) fault(path, message, fix string) {
	at := c.cfg.origins.nearest(path)
	if !c.explicit(path) {
		at.line, at.column = at.keyLine, at.keyColumn
	}
	c.faults.add(Fault{Line: at.line, Column: at.column, Variable: at.variable, Path: path, Message: message, Fix: fix})
	c.cfg.origins.markUnreadable(path) // suppresses faults that follow from this one
}

// keyFault adds a fault of the key itself, at the position of the key.
func (c checker) keyFault(path, message, fix string) {
	at := c.cfg.origins.nearest(path)
	c.faults.add(Fault{Line: at.keyLine, Column: at.keyColumn, Variable: at.variable, Path: path, Message: message, Fix: fix})
	c.cfg.origins.markUnreadable(path)
}

// usable reports whether all of these values could be read.
func (c checker) usable(paths ...string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool { return !c.cfg.origins.usable(path) })
}

func (c checker) explicit(path string) bool { return c.cfg.origins.explicit(path) }

// valueAt returns the value of a key. Every mapping above the key must be present.
func valueAt(cfg *Config, path string) reflect.Value {
	v := reflect.ValueOf(cfg).Elem()
	for name := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		v = reflect.Indirect(v)
		if i, err := strconv.Atoi(name); err == nil {
			v = v.Index(i)
			continue
		}
		k, _ := findKey(v.Type(), name)
		v = v.Field(k.index)
	}
	return v
}

// changed reports whether the value of a key differs from its default. A file may write a default out, as the reference
// file does.
func (c checker) changed(path string) bool {
	return !reflect.DeepEqual(valueAt(c.cfg, path).Interface(), valueAt(c.defaults, path).Interface())
}

// given reports whether a text key is not empty. Text keys have no default.
func (c checker) given(path string) bool { return valueAt(c.cfg, path).String() != "" }

// noEffect refuses non-empty keys below path that have no effect.
func (c checker) noEffect(path, why, fix string, keys ...string) {
	for _, key := range keys {
		if c.given(path + "." + key) {
			c.fault(path+"."+key, "has no effect "+why, fix)
		}
	}
}

// notBoth refuses two keys below path that set the same thing.
func (c checker) notBoth(path, one, other string) {
	if c.given(path+"."+one) && c.given(path+"."+other) {
		c.fault(path+"."+other, "both "+one+" and "+other+" are set", "keep one of the two")
	}
}

// certificate refuses a client certificate without its key file, and a key file without its certificate.
func (c checker) certificate(path string) {
	for _, pair := range [][2]string{{"cert_file", "key_file"}, {"key_file", "cert_file"}} {
		if given, absent := pair[0], pair[1]; c.usable(path) && c.given(path+"."+given) && !c.given(path+"."+absent) {
			c.fault(path+"."+given, "a client certificate needs both its files, and "+absent+" is not set", "set "+path+"."+absent+" or remove "+given)
		}
	}
}

// distinct refuses two list entries with the same name.
func (c checker) distinct(list, what, fix string, names []string) {
	first := map[string]int{}
	for i, name := range names {
		path := entry(list, i) + ".name"
		if before, doubled := first[name]; doubled && c.usable(path) {
			c.fault(path, fmt.Sprintf("%s is the name of %s %d too", show(name), what, before+1), fix)
			continue
		}
		first[name] = i
	}
}

// within refuses a time limit that is longer than the limit of one attempt.
func (c checker) within(path string, limit Duration) {
	if most := c.cfg.Engine.HandlerTimeout; limit > most && c.usable(path, "engine.handler_timeout") {
		c.fault(path, fmt.Sprintf("%s is longer than one record may take (engine.handler_timeout %s)", limit, most), "shorten it, or lengthen engine.handler_timeout")
	}
}

func (c checker) kafka() {
	for i, broker := range c.cfg.Kafka.Brokers {
		c.address(entry("kafka.brokers", i), broker, "write host:port, such as kafka-1:9092", 1)
	}
	if listen := c.cfg.Metrics.Listen; listen != "" {
		c.address("metrics.listen", listen, `write host:port, such as 127.0.0.1:9464, or "" to turn it off`, 0) // port 0: the system chooses a port
	}
	const tls, sasl, off = "kafka.tls", "kafka.sasl", "set kafka.sasl.mechanism or remove it"
	c.certificate(tls)
	if !c.cfg.Kafka.TLS.Enabled && c.usable(tls+".enabled") {
		c.noEffect(tls, "while TLS is off", "set kafka.tls.enabled: true or remove it", "ca_file", "cert_file", "key_file", "server_name")
	}
	switch {
	case !c.usable(sasl):
	case !c.cfg.Kafka.SASL.Enabled():
		c.noEffect(sasl, "while SASL is off", off, "username", "username_env", "password_env", "password_file")
	default:
		for _, pair := range [][2]string{{"username", "username_env"}, {"password_env", "password_file"}} {
			c.notBoth(sasl, pair[0], pair[1])
			if !c.given(sasl+"."+pair[0]) && !c.given(sasl+"."+pair[1]) {
				c.fault(sasl+".mechanism", "SASL is on without "+pair[0]+" or "+pair[1], "set one of the two below "+sasl)
			}
		}
	}
}

// address refuses text that is not host:port with a port of at least lowest. Only a listen address, for which port 0 is
// allowed, may omit the host.
func (c checker) address(path, address, fix string, lowest int) {
	if !c.usable(path) {
		return
	}
	host, text, err := net.SplitHostPort(address)
	port, portErr := strconv.Atoi(text)
	switch {
	case err != nil:
		c.fault(path, show(address)+" is not host:port", fix)
	case lowest > 0 && host == "":
		c.fault(path, show(address)+" has no host", fix)
	case strings.ContainsAny(host, " \t/@?#"):
		c.fault(path, show(address)+" has a host with a character that no host name has", fix)
	case portErr != nil || port < lowest || port > 65535:
		c.fault(path, fmt.Sprintf("%s has no port from %d to 65535", show(address), lowest), fix)
	}
}

func (c checker) engine() {
	e, most := c.cfg.Engine, c.cfg.Source.MaxRecordBytes
	if e.CommitInterval >= e.TransactionTimeout && c.usable("engine.commit_interval", "engine.transaction_timeout") {
		c.fault("engine.commit_interval", fmt.Sprintf("%s is not below transaction_timeout %s", e.CommitInterval, e.TransactionTimeout),
			"shorten it, or lengthen engine.transaction_timeout")
	}
	if e.MaxHeldBytes < most && c.usable("engine.max_held_bytes", "source.max_record_bytes") {
		c.fault("engine.max_held_bytes", fmt.Sprintf("%d is less than one record may have (source.max_record_bytes %d)", e.MaxHeldBytes, most),
			"raise it, or lower source.max_record_bytes")
	}
	// The writers of the control topic and of adoptions use the transactional IDs of these instance names.
	switch e.Instance {
	case "control":
		c.fault("engine.instance", "control is the name under which pause and resume are written", "choose another")
	case "adopt":
		c.fault("engine.instance", "adopt is the name under which `consumer topics adopt` writes", "choose another")
	}
}

// replayer refuses two locations for one index, and header patterns that have no meaning.
func (c checker) replayer() {
	const index, headers = "replayer.index", "replayer.headers"
	switch i := c.cfg.Replayer.Index; {
	case !c.usable(index):
	case isConnectionString(i.File): // not shown, because it contains the password
		c.fault(index+".file", "is a connection string, not the name of a file", "put it into an environment variable, and the variable's name into replayer.index.dsn_env")
	case i.File != "" && i.DSNEnv != "":
		c.fault(index+".file", "the index has two places: file and dsn_env", "leave one of them out")
	}
	for key, patterns := range map[string][]string{".keep": c.cfg.Replayer.Headers.Keep, ".strip": c.cfg.Replayer.Headers.Strip} {
		for i, pattern := range patterns {
			switch at := entry(headers+key, i); {
			case !c.usable(at):
			case pattern == "":
				c.fault(at, "a header without a name", "write its name, or a pattern such as ce_*")
			case strings.HasPrefix(pattern, "switchback-"):
				c.fault(at, show(pattern)+" is a control header; the replayer itself decides which control headers are replayed", "remove it")
			}
		}
	}
}

// topics refuses names that Kafka does not accept, each at the key that the name comes from. It also refuses to use one
// topic twice. Kafka does not distinguish dot and underscore in metric names, and refuses to create two topics that
// differ only in them.
func (c checker) topics() {
	first := map[string]string{}
	for _, topic := range c.cfg.allTopics() {
		path := c.namedBy(topic.path)
		if !c.usable(path) {
			continue
		}
		if problem, fix := topicProblem(topic.name); problem != "" {
			c.fault(path, problem, fix)
			continue
		}
		name := strings.ReplaceAll(topic.name, "_", ".")
		before, taken := first[name]
		switch {
		case !c.usable("pipeline.retry_policy"):
		case taken:
			c.fault(topic.path, fmt.Sprintf("the topic %s is that of %s too", show(topic.name), before), "give it a name of its own")
		default:
			first[name] = topic.path
		}
	}
}

// namedBy returns the key that a topic name comes from: path itself, or the key that the name is derived from.
func (c checker) namedBy(path string) string {
	for _, candidate := range []string{path, "source.topic"} {
		if c.explicit(candidate) {
			return candidate
		}
	}
	return "pipeline.id"
}
