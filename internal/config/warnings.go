package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// Warnings says what is legal and still worth a second look. It has the form of faults, with
// their places; none of them keeps the pipeline from running.
func Warnings(cfg *Config) []Fault {
	var out Faults
	warn := func(path, message, fix string) {
		line, column, variable := cfg.Position(path)
		out.add(Fault{Line: line, Column: column, Variable: variable, Path: path, Message: message, Fix: fix})
	}
	retryWarnings(cfg.Pipeline.RetryPolicy, warn)
	toleranceWarnings(cfg, warn)
	versionWarnings(cfg, warn)
	orderWarnings(cfg, warn)
	kafkaWarnings(cfg, warn)
	registryWarnings(cfg, warn)
	enrichWarnings(cfg, warn)
	nameWarnings(cfg, warn)
	out.sort()
	return out.List
}

// retryWarnings speaks of what is legal to retry and seldom passes (S4-3).
func retryWarnings(p RetryPolicy, warn func(path, message, fix string)) {
	for i, status := range p.RetryableStatusCodes {
		if status == 401 || status == 403 {
			warn(retryPath+"retryable_status_codes["+strconv.Itoa(i)+"]", strconv.Itoa(status)+": "+classify.NeverRetried(classify.CategoryAccess),
				"leave it out unless a token is renewed meanwhile")
		}
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

func registryWarnings(cfg *Config, warn func(path, message, fix string)) {
	r := cfg.SchemaRegistry
	secret := r.PasswordEnv + r.PasswordFile + r.TokenEnv + r.TokenFile
	if secret != "" && slices.ContainsFunc(r.URLs(), func(url string) bool { return !strings.HasPrefix(strings.ToLower(url), "https:") }) {
		warn("schema_registry.url", "http sends the password or the token in the clear", "write https")
	}
}

func enrichWarnings(cfg *Config, warn func(path, message, fix string)) {
	for i, step := range cfg.Enrich {
		path := "enrich[" + strconv.Itoa(i) + "]"
		if step.HTTP != nil {
			httpWarnings(path+".http", step.HTTP, warn)
		}
		for j, p := range step.Providers {
			if p.HTTP != nil {
				httpWarnings(path+".providers["+strconv.Itoa(j)+"].http", p.HTTP, warn)
			}
		}
	}
}

func httpWarnings(path string, h *HTTPLookup, warn func(path, message, fix string)) {
	if key := secretParameter(h.URL); key != "" {
		warn(path+".url", "the parameter "+show(key)+" looks like a secret in the file",
			"use a service that needs none, or one that adds it on its own side")
	}
	if host := privateHost(h.URL); host != "" && !h.AllowPrivate && len(h.AllowNetworks) == 0 {
		warn(path+".url", host+" is not a public address, and every request to it is refused (address_refused)",
			"set "+path+".allow_private: true, or list its network in allow_networks")
	}
}

// privateHost gives the host of a URL when it is written as an address that is not public, or as localhost; else "".
func privateHost(template string) string {
	_, host, _ := strings.Cut(template, "://")
	if end := strings.IndexAny(host, "/?"); end >= 0 {
		host = host[:end]
	}
	u, err := url.Parse("http://" + host)
	if err != nil {
		return ""
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if u.Hostname() == "localhost" || err == nil && (addr.IsPrivate() || addr.IsLoopback() || addr.IsLinkLocalUnicast()) {
		return u.Hostname()
	}
	return ""
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
