package config

import (
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/template"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/transform"
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
func retryWarnings(p RetryPolicy, warn warner) {
	for i, status := range p.RetryableStatusCodes {
		if status == 401 || status == 403 {
			warn(retryPath+entry("retryable_status_codes", i), strconv.Itoa(status)+": "+classify.NeverRetried(classify.CategoryAccess),
				"leave it out unless a token is renewed meanwhile")
		}
	}
}

func kafkaWarnings(cfg *Config, warn warner) {
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

func registryWarnings(cfg *Config, warn warner) {
	r := cfg.SchemaRegistry
	secret := r.PasswordEnv + r.PasswordFile + r.TokenEnv + r.TokenFile
	if secret != "" && slices.ContainsFunc(r.URLs(), func(url string) bool { return !strings.HasPrefix(strings.ToLower(url), "https:") }) {
		warn("schema_registry.url", "http sends the password or the token in the clear", "write https")
	}
}

func enrichWarnings(cfg *Config, warn warner) {
	for i, step := range cfg.Enrich {
		for path, p := range step.at(entry("enrich", i)) {
			if p.HTTP != nil {
				httpWarnings(path+".http", p.HTTP, warn)
			}
		}
	}
}

func httpWarnings(path string, h *HTTPLookup, warn warner) {
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

// nameWarnings finds names in the URLs of remote steps that the mapped feature cannot have: the name of the source where that of the
// target is meant. Every feature would die of it. Without fields, or with what is unmapped kept, the file does not tell what there is.
func nameWarnings(cfg *Config, warn warner) {
	t := cfg.Transform
	if len(t.Fields) == 0 || t.Unmapped != transform.UnmappedDrop {
		return
	}
	known, target := map[string]bool{t.Geometry.FlagProperty: true}, map[string]string{}
	for _, f := range t.Fields {
		known[f.To] = true
		target[f.From] = f.To
	}
	for name := range maps.Keys(t.Constants) {
		known[name] = true
	}
	for i, step := range cfg.Enrich {
		for path, p := range step.at(entry("enrich", i)) {
			if p.HTTP == nil {
				continue
			}
			parts, _ := template.Parse(p.HTTP.URL)
			for _, part := range parts {
				property, isProperty := strings.CutPrefix(part.Name, "properties.")
				if isProperty && !given(known, property) {
					warn(path+".http.url", show("{"+part.Name+"}")+" is given by no field, no constant and no earlier step, so every feature fails here (missing_required)", meant(target, known, property))
				}
			}
		}
		for name := range step.Set {
			known[name] = true
		}
		known[step.SetProvider] = true
	}
}

// given says whether a property may be there: itself, something that it is part of, or, when it was flattened, something that it begins with.
func given(known map[string]bool, property string) bool {
	for name := range known {
		if name != "" && (strings.HasPrefix(property+".", name+".") || strings.HasPrefix(name, property+".") || strings.HasPrefix(property, name)) {
			return true
		}
	}
	return false
}

func meant(target map[string]string, known map[string]bool, property string) string {
	if to := target[property]; to != "" {
		return "a step sees the mapped feature: write {properties." + to + "}"
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(n string) bool { return n == "" })
	return "a step sees the mapped feature, which has " + strings.Join(names[:min(len(names), 8)], ", ") + "; add a field, or fix the name"
}

const (
	modePath  = "ordering.mode"
	keepPath  = "ordering.versions.keep"
	limitPath = "ordering.versions.max_keys"
)

// orderWarnings speaks of what is legal and leaves less of an order than one might think (docs/delivery.md).
func orderWarnings(cfg *Config, warn warner) {
	if cfg.Ordering.Mode == OrderingNone {
		unorderedWarnings(cfg, warn)
		return
	}
	if cfg.Source.Version != "" {
		versionedWarnings(cfg, warn)
	} else {
		versionsUnused(cfg, warn, "no property orders the events, the source offset does, and nothing older comes after something newer", "name it with source.version, or remove it")
	}
	if cfg.Source.NullKeys == NullKeysAccept {
		warn("source.null_keys", "accept: records without a key are in no order, and an older one of a feature can take effect after a newer one",
			"give every record the id of its feature as its key, and remove it")
	}
	if cfg.Delivery == DeliveryAtLeastOnce {
		warn("delivery", "at_least_once: after a crash or a rebalance some events are delivered again, and older ones then stand in the output after newer ones",
			"set delivery: exactly_once where the cluster has transactions, or let readers compare switchback-source")
	}
}

// unorderedWarnings speaks of keys that ask for an order that ordering.mode does not keep.
func unorderedWarnings(cfg *Config, warn warner) {
	if cfg.Source.Version != "" {
		warn(modePath, "none: versions are not compared, so an older version can take effect after a newer one",
			"set ordering.mode: latest_wins, or remove source.version")
	}
	versionsUnused(cfg, warn, "with ordering.mode: none versions are not compared", "set ordering.mode: latest_wins, or remove it")
}

func versionsUnused(cfg *Config, warn warner, why, fix string) {
	if cfg.Ordering.Versions.Keep != KeepVersionsAlways {
		warn(keepPath, "has no effect: "+why, fix)
	}
	if cfg.Ordering.Versions.MaxKeys != defaultVersionKeys {
		warn(limitPath, "has no effect: "+why, fix)
	}
}

const defaultVersionKeys = 10_000_000

func versionedWarnings(cfg *Config, warn warner) {
	if cfg.Ordering.Mode == OrderingStrict {
		warn(modePath, "strict: events take effect in source order, whatever their version, so an older version takes effect when it comes after a newer one; only replays are held to it",
			"set ordering.mode: latest_wins where the version is to decide, or remove source.version where the source order is")
	}
	if cfg.Ordering.Versions.Keep != KeepVersionsWindow {
		return
	}
	message := "window: which version of a key is the newest is known for dedupe.window (" + cfg.Dedupe.Window.String() + "), so an older version that comes later than that takes effect"
	if cfg.Dedupe.Window == 0 {
		message = "window: with dedupe.window: 0s, which version of a key is the newest is known only while a record of the key waits or is a dead letter, so an older version can take effect after a newer one"
	}
	warn(keepPath, message, "remove it (always is the default), or make dedupe.window longer than events can be late")
}

const (
	versionPath      = "source.version"
	versionFormPath  = "source.version_form"
	versionAheadPath = "source.max_version_ahead"
)

func versionWarnings(cfg *Config, warn warner) {
	form, limited := cfg.Source.VersionForm, cfg.Source.MaxVersionAhead != defaultAhead
	if cfg.Source.Version == "" {
		const message, fix = "has no effect: no property orders the events, the source offset does", "name it with source.version, or remove it"
		if form != VersionAny {
			warn(versionFormPath, message, fix)
		}
		if limited {
			warn(versionAheadPath, message, fix)
		}
		return
	}
	switch {
	case form == VersionAny:
		warn(versionPath, "a whole number has no limit: one producer that sends a large one makes every later event of that key superseded",
			"write source.version_form: rfc3339, or unix_s, unix_ms, unix_us, unix_ns where numbers are times, or number for revisions, which have no limit")
	case form == VersionNumber && limited:
		warn(versionAheadPath, "has no effect: with source.version_form: number versions are no times", "remove it")
	}
}

const defaultAhead = Duration(time.Hour)
