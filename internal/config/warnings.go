package config

import (
	"net/url"
	"strconv"
	"strings"
)

// Warnings says what is legal and still worth a second look. It has the form of faults, with
// their places; none of them keeps the pipeline from running.
func Warnings(cfg *Config) []Fault {
	var out Faults
	warn := func(path, message, fix string) {
		line, column, variable := cfg.Position(path)
		out.add(Fault{Line: line, Column: column, Variable: variable, Path: path, Message: message, Fix: fix})
	}
	toleranceWarnings(cfg.Pipeline.Tolerance, warn)
	kafkaWarnings(cfg, warn)
	for i, step := range cfg.Enrich {
		if key := secretParameter(step.HTTP.URL); key != "" {
			warn("enrich["+strconv.Itoa(i)+"].http.url", "the parameter "+show(key)+" looks like a secret in the file",
				"use a service that needs none, or one that adds it on its own side")
		}
	}
	out.sort()
	return out.List
}

func toleranceWarnings(t Tolerance, warn func(path, message, fix string)) {
	const path = "pipeline.tolerance."
	if t.HaltOnGeometryInvalid {
		warn(path+"halt_on_geometry_invalid", "is checked but not enforced by this version: an invalid geometry becomes a dead letter and the flow goes on",
			"watch the dead letters with code geometry_invalid")
	}
	if t.MaxNullRate < 1 {
		warn(path+"max_null_rate", "is checked but not enforced by this version: no share of missing values stops the flow",
			"mark fields that must be there with required: true")
	}
}

func kafkaWarnings(cfg *Config, warn func(path, message, fix string)) {
	const fix = "set kafka.tls.enabled: true"
	switch {
	case cfg.Kafka.TLS.Enabled || !cfg.Kafka.SASL.Enabled():
	case cfg.Kafka.SASL.Mechanism == MechanismPlain:
		warn("kafka.sasl.mechanism", "PLAIN without TLS sends the password in the clear", fix)
	default:
		warn("kafka.sasl.mechanism", string(cfg.Kafka.SASL.Mechanism)+" without TLS proves the password without sending it, but everything after it is in the clear", fix)
	}
	if len(cfg.Kafka.Brokers) > 1 && cfg.Topics.ReplicationFactor == 1 {
		warn("topics.replication_factor", "there are several brokers, but each topic that is created has one copy: with the loss of its broker, what waits there is lost",
			"set topics.replication_factor: 3")
	}
}

// secretParameter finds a parameter of a URL template that looks like a secret and has its value in the file.
func secretParameter(template string) string {
	_, query, _ := strings.Cut(template, "?")
	for parameter := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(parameter, "=")
		if value != "" && !strings.Contains(value, "{") && isSecretParameter(key) {
			return key
		}
	}
	return ""
}

func isSecretParameter(key string) bool {
	if plain, err := url.QueryUnescape(key); err == nil {
		key = plain
	}
	folded := fold(key)
	return isSecretName(key) || folded == "key" || folded == "sig" || strings.HasSuffix(folded, "apikey")
}
