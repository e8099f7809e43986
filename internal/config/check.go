package config

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// checker holds a decoded and filled configuration against the rules that concern more than the
// form of one value. A rule is passed over when a value that it needs could not be read.
type checker struct {
	cfg    *Config
	faults *Faults
}

func check(cfg *Config, faults *Faults) {
	c := checker{cfg, faults}
	c.retryPolicy()
	c.tolerance()
	c.brokers()
	c.tls()
	c.sasl()
	c.topicNames()
	c.distinctTopics()
	c.format()
	c.output()
	c.registry()
	c.transform()
	c.enrich()
	c.sink()
	c.governance()
	c.metrics()
	c.replayer()
	c.engine()
}

// fault notes a fault at the place where path was written.
func (c checker) fault(path, message, fix string) {
	at := c.cfg.origins.near(path)
	line, column := at.line, at.column
	if !c.cfg.origins.byHand(path) {
		line, column = at.keyLine, at.keyColumn
	}
	c.faults.add(Fault{Line: line, Column: column, Variable: at.variable, Path: path, Message: message, Fix: fix})
	c.cfg.origins.crack(path) // what depends on it is not worth a fault of its own
}

// sound reports whether all of these values could be read.
func (c checker) sound(paths ...string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool { return !c.cfg.origins.sound(path) })
}

func (c checker) byHand(path string) bool { return c.cfg.origins.byHand(path) }

func (c checker) brokers() {
	for i, broker := range c.cfg.Kafka.Brokers {
		path := "kafka.brokers[" + strconv.Itoa(i) + "]"
		if !c.sound(path) {
			continue
		}
		if problem := addressProblem(broker, true); problem != "" {
			c.fault(path, show(broker)+" "+problem, "write host:port, such as kafka-1:9092")
		}
	}
}

func (c checker) metrics() {
	const path = "metrics.listen"
	listen := c.cfg.Metrics.Listen
	if listen == "" || !c.sound(path) {
		return
	}
	if problem := addressProblem(listen, false); problem != "" {
		c.fault(path, show(listen)+" "+problem, `write host:port, such as 127.0.0.1:9464, or "" to turn it off`)
	}
}

// addressProblem says what is wrong with host:port, or "". The host of an address to listen on may be empty.
func addressProblem(address string, needsHost bool) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "is not host:port"
	}
	if needsHost && host == "" {
		return "has no host"
	}
	if strings.ContainsAny(host, " \t/@?#") {
		return "has a host with a character that no host name has"
	}
	n, err := strconv.Atoi(port)
	lowest := 0 // the system chooses a free port
	if needsHost {
		lowest = 1
	}
	if err != nil || n < lowest || n > 65535 {
		return fmt.Sprintf("has no port from %d to 65535", lowest)
	}
	return ""
}

func (c checker) tls() {
	tls := c.cfg.Kafka.TLS
	c.certificate("kafka.tls", tls.CertFile, tls.KeyFile)
	if tls.Enabled || !c.sound("kafka.tls.enabled") {
		return
	}
	for key, value := range map[string]string{
		"ca_file": tls.CAFile, "cert_file": tls.CertFile, "key_file": tls.KeyFile, "server_name": tls.ServerName,
	} {
		if value != "" {
			c.fault("kafka.tls."+key, "has no effect while TLS is off", "set kafka.tls.enabled: true or remove it")
		}
	}
}

// certificate demands both files of a client's certificate, or none.
func (c checker) certificate(path, certFile, keyFile string) {
	if (certFile == "") == (keyFile == "") || !c.sound(path) {
		return
	}
	given, absent := "cert_file", "key_file"
	if certFile == "" {
		given, absent = absent, given
	}
	c.fault(path+"."+given, "a client certificate needs both its files, and "+absent+" is not set", "set "+path+"."+absent+" or remove "+given)
}

func (c checker) sasl() {
	sasl := c.cfg.Kafka.SASL
	if !c.sound("kafka.sasl") {
		return
	}
	given := map[string]string{
		"username": sasl.Username, "username_env": sasl.UsernameEnv,
		"password_env": sasl.PasswordEnv, "password_file": sasl.PasswordFile,
	}
	if !sasl.Enabled() {
		for key, value := range given {
			if value != "" {
				c.fault("kafka.sasl."+key, "has no effect while SASL is off", "set kafka.sasl.mechanism or remove it")
			}
		}
		return
	}
	c.oneOf("kafka.sasl", given, "username", "username_env")
	c.oneOf("kafka.sasl", given, "password_env", "password_file")
	c.variableNames("kafka.sasl", given, "username_env", "password_env")
}

// variableNames refuses what cannot be the name of an environment variable. The value is not shown: it may be the secret
// itself.
func (c checker) variableNames(path string, given map[string]string, keys ...string) {
	for _, key := range keys {
		if name := given[key]; name != "" && !isVariableName(name) {
			c.fault(path+"."+key, "is not the name of an environment variable", "write the name of the variable that holds the secret, not the secret")
		}
	}
}

// oneOf demands exactly one of two keys.
func (c checker) oneOf(path string, given map[string]string, one, other string) {
	switch {
	case given[one] == "" && given[other] == "":
		c.fault(path+".mechanism", "SASL is on without "+one+" or "+other, "set one of the two below "+path)
	case given[one] != "" && given[other] != "":
		c.fault(path+"."+other, "both "+one+" and "+other+" are set", "keep one of the two")
	}
}

func isVariableName(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// The names that no instance may have: their transactional ids are those of the writers of the control topic and of adoptions.
const (
	controlInstance = "control"
	adoptInstance   = "adopt"
)

func (c checker) engine() {
	e := c.cfg.Engine
	if e.CommitInterval >= e.TransactionTimeout && c.sound("engine.commit_interval", "engine.transaction_timeout") {
		c.fault("engine.commit_interval", fmt.Sprintf("%s is not below transaction_timeout %s", e.CommitInterval, e.TransactionTimeout),
			"shorten it, or lengthen engine.transaction_timeout")
	}
	if e.MaxHeldBytes < c.cfg.Source.MaxRecordBytes && c.sound("engine.max_held_bytes", "source.max_record_bytes") {
		c.fault("engine.max_held_bytes", fmt.Sprintf("%d is less than one record may have (source.max_record_bytes %d)", e.MaxHeldBytes, c.cfg.Source.MaxRecordBytes),
			"raise it, or lower source.max_record_bytes")
	}
	if e.Instance == controlInstance {
		c.fault("engine.instance", "control is the name under which pause and resume are written", "choose another")
	}
	if e.Instance == adoptInstance {
		c.fault("engine.instance", "adopt is the name under which `consumer topics adopt` writes", "choose another")
	}
	if c.sound("engine.instance") && e.Instance != "" && !isTopicText(e.Instance) {
		c.fault("engine.instance", show(e.Instance)+" has a character that a transactional id should not have", "use letters, digits, dot, underscore and hyphen")
	}
}
