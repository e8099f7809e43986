package config

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/template"
	"github.com/switchback-geo/switchback/pkg/classify"
	"github.com/switchback-geo/switchback/pkg/crs"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Warnings returns settings that are legal but probably unintended. Warnings have the form of faults, with positions.
// None of them prevents the pipeline from running.
func Warnings(cfg *Config) []Fault {
	w := &warner{Config: cfg}
	for i, status := range cfg.Pipeline.RetryPolicy.RetryableStatusCodes { // S4-3
		w.when(status == 401 || status == 403, retryPath+entry("retryable_status_codes", i), strconv.Itoa(status)+": "+classify.NeverRetried(classify.CategoryAccess),
			"leave it out unless a token is renewed meanwhile")
	}
	w.tolerance()
	w.pauseOn()
	w.precision()
	w.version()
	w.order()
	w.connections()
	w.steps()
	w.out.sort()
	return w.out.List
}

// warner collects warnings about a configuration.
type warner struct {
	*Config
	out Faults
}

// when adds a warning at the position of path if reason is true.
func (w *warner) when(reason bool, path, message, fix string) {
	if reason {
		line, column, variable := w.Position(path)
		w.out.add(Fault{Line: line, Column: column, Variable: variable, Path: path, Message: message, Fix: fix})
	}
}

// tolerance warns about tolerance keys that have no effect with the rest of the file.
func (w *warner) tolerance() {
	const path = "pipeline.tolerance."
	t, validity := w.Pipeline.Tolerance, w.Transform.Geometry.Validity
	w.when(t.HaltOnGeometryInvalid && validity != "" && validity != transform.ValidityReject, path+"halt_on_geometry_invalid",
		"does not pause the pipeline for geometries that transform.geometry.validity: "+string(validity)+" accepts",
		"set transform.geometry.validity: reject, or halt_on_geometry_invalid: false")
	counted := slices.ContainsFunc(w.Transform.Fields, func(f transform.Field) bool { return !f.Required })
	w.when(t.MaxNullRate < 1 && !counted, path+"max_null_rate",
		"has no effect: it applies to fields under transform.fields that are not required, and there are none",
		"add fields that are not required, or write max_null_rate: 1")
	batches := t.MaxNullRate < 1 && counted || t.MaxDeadLetterRate < 1
	for _, key := range []string{"window", "min_records"} {
		w.when(w.origins.explicit(path+key) && !batches && t.MaxTransientRate >= 1, path+key, "has no effect: every rate is 1 and accepts all", "lower a rate, or remove it")
	}
	w.when(w.origins.explicit(path+"on_batch") && !batches && t.PrecisionDecimalThreshold == 0, path+"on_batch",
		"has no effect: a batch is judged by max_null_rate, max_dead_letter_rate and precision_decimal_threshold, and all of them accept everything",
		"set one of them, or remove it")
}

// holdOn warns about listed codes that no failure can have with this file. It ignores the default list, even if it is
// written out.
func (w *warner) pauseOn() {
	codes := w.Pipeline.Tolerance.PauseOn
	if slices.Equal(codes, []classify.Code{classify.CodePrecisionDegraded, classify.CodeForeignKeyEmpty}) {
		return
	}
	for i, code := range codes {
		why := neverGiven(w.Config, code)
		w.when(why != "", entry("pipeline.tolerance.pause_on", i), "has no effect: "+why, "remove "+string(code)+", or configure the check that reports it")
	}
}

// neverGiven returns why no failure can have a code with this file, or "" if one can.
func neverGiven(cfg *Config, code classify.Code) string {
	t, geometry := cfg.Pipeline.Tolerance, cfg.Transform.Geometry
	mandatory := func(f transform.Field) bool { return f.References != nil && f.References.Mandatory }
	asks := func(s EnrichStep) bool {
		return s.HTTP != nil || slices.ContainsFunc(s.Providers, func(p Provider) bool { return p.HTTP != nil })
	}
	refers := func(f transform.Field) bool { return f.References != nil }
	switch {
	case code == classify.CodePrecisionDegraded && t.PrecisionDecimalThreshold == 0 && (t.MinDecimals == 0 || geometry.Coarse != transform.Reject):
		return "neither precision_decimal_threshold nor min_decimals is set, so no coordinate is refused"
	case code == classify.CodeForeignKeyEmpty && !slices.ContainsFunc(cfg.Transform.Fields, mandatory):
		return "no field under transform.fields has mandatory references"
	case code == classify.CodeForeignKeyUnresolved && !slices.ContainsFunc(cfg.Transform.Fields, refers):
		return "no field under transform.fields has references"
	case code == classify.CodeGeometryInvalid && geometry.Validity == transform.ValidityFlag && geometry.OutputValidity == transform.OutputFlag:
		return "transform.geometry accepts invalid geometries with a flag"
	case code == classify.CodeGeometryNotSimple && geometry.Simplicity != transform.Reject:
		return "transform.geometry.simplicity refuses nothing"
	case strings.HasPrefix(string(code), "http_") && cfg.SchemaRegistry.URL == "" && !slices.ContainsFunc(cfg.Enrich, asks):
		return "no step asks a service by HTTP"
	}
	return ""
}

func (w *warner) precision() {
	const floorPath, leastPath, roundPath = "pipeline.tolerance.precision_decimal_threshold", "pipeline.tolerance.min_decimals", "transform.geometry.round_decimals"
	t, geometry := w.Pipeline.Tolerance, w.Transform.Geometry
	floor, least, rounded := t.PrecisionDecimalThreshold, t.MinDecimals, *geometry.RoundDecimals
	w.when(least > 0 && geometry.Coarse == transform.Accept, leastPath, "has no effect with transform.geometry.coarse: accept", "remove one of them")
	w.when(least > 0 && geometry.Coarse != transform.Accept, leastPath,
		"judges each geometry alone: one in a hundred correct points ends in 0 in both ordinates and is refused",
		fmt.Sprintf("write precision_decimal_threshold: %d, which judges many together, unless every single one must have the decimals", least))
	if floor == 0 {
		return
	}
	source, err := crs.Lookup(geometry.SourceCRS)
	target, err2 := crs.Lookup(geometry.TargetCRS)
	explicit := w.origins.explicit(roundPath)
	coarser := err == nil && err2 == nil && source.Unit() == target.Unit() && rounded < floor
	w.when(!explicit, floorPath, fmt.Sprintf("is the floor of the source's coordinates: coarser ones pause the pipeline; it does not round, and the output keeps %d decimals", rounded),
		fmt.Sprintf("write %s: %d to make this explicit; if you only want rounding, write that key alone", roundPath, rounded))
	w.when(explicit && coarser, roundPath, fmt.Sprintf("rounds the output to fewer decimals than the %d that the source must have", floor),
		fmt.Sprintf("write %s: %d, unless this is intended", roundPath, floor))
	w.when(explicit && !coarser && err == nil && source.Unit() != crs.Degree && floor > 4, floorPath,
		fmt.Sprintf("%d decimals of a metre are less than 0.1 mm; the floor counts decimals of the source's unit", floor), "write 2 for centimetres, 3 for millimetres")
	w.when(!t.PausesOn(classify.CodePrecisionDegraded), floorPath, "pauses nothing, because pause_on does not list precision_degraded: records below the floor become dead letters",
		"add precision_degraded to pause_on, unless this is intended")
}

// version warns about versions that any producer can push far ahead, and about version keys that have no effect.
func (w *warner) version() {
	const path, formPath, aheadPath = "source.version", "source.version_form", "source.max_version_ahead"
	form, limited := w.Source.VersionForm, w.Source.MaxVersionAhead != Duration(time.Hour)
	if w.Source.Version == "" {
		const message, fix = "has no effect: events are ordered by the source offset, not by a property", "name it with source.version, or remove it"
		w.when(form != VersionAny, formPath, message, fix)
		w.when(limited, aheadPath, message, fix)
		return
	}
	w.when(form == VersionAny, path, "a whole number has no limit: one producer that sends a large one makes every later event of that key superseded",
		"write source.version_form: rfc3339, or unix_s, unix_ms, unix_us, unix_ns where numbers are times, or number for revisions, which have no limit")
	w.when(form == VersionNumber && limited, aheadPath, "has no effect: with source.version_form: number, versions are not times", "remove it")
}

// order warns about legal settings that keep less order than their user may expect (docs/delivery.md).
func (w *warner) order() {
	const modePath, keepPath = "ordering.mode", "ordering.versions.keep"
	mode, versioned, window := w.Ordering.Mode, w.Source.Version != "", w.Ordering.Versions.Keep == KeepVersionsWindow
	why, fix := "events are ordered by the source offset, not by a property, so no older event arrives after a newer one", "name it with source.version, or remove it"
	if mode == OrderingNone {
		why, fix = "with ordering.mode: none versions are not compared", "set ordering.mode: latest_wins, or remove it"
	}
	unused := mode == OrderingNone || !versioned
	w.when(unused && window, keepPath, "has no effect: "+why, fix)
	w.when(unused && w.Ordering.Versions.MaxKeys != 10_000_000, "ordering.versions.max_keys", "has no effect: "+why, fix)
	if mode == OrderingNone {
		w.when(versioned, modePath, "none: versions are not compared, so an older version can take effect after a newer one", "set ordering.mode: latest_wins, or remove source.version")
		return
	}
	w.when(versioned && mode == OrderingStrict, modePath,
		"strict: events take effect in source order, whatever their version, so an older version can take effect after a newer one; only replays compare versions",
		"set ordering.mode: latest_wins if the version should decide, or remove source.version if the source order should")
	known := "for dedupe.window (" + w.Dedupe.Window.String() + "), so an older version that arrives later than that takes effect"
	if w.Dedupe.Window == 0 {
		known = "only while a record of the key waits or is a dead letter, since dedupe.window is 0s, so an older version can take effect after a newer one"
	}
	w.when(versioned && window, keepPath, "window: which version of a key is the newest is known "+known,
		"remove it (always is the default), or make dedupe.window longer than events can be late")
	w.when(w.Source.NullKeys == NullKeysAccept, "source.null_keys", "accept: records without a key have no order, so an older event of a feature can take effect after a newer one",
		"give every record the ID of its feature as its key, and remove this setting")
	w.when(w.Delivery == DeliveryAtLeastOnce, "delivery", "at_least_once: after a crash or a rebalance some events are delivered again, so older ones can follow newer ones in the output",
		"set delivery: exactly_once if the cluster supports transactions, or let readers compare switchback-source")
}

// connections warns about secrets that are sent unencrypted, and about topics that are lost if one broker is lost.
func (w *warner) connections() {
	sasl, r := w.Kafka.SASL, w.SchemaRegistry
	exposed := string(sasl.Mechanism) + " without TLS proves the password without sending it, but everything after it is in the clear"
	if sasl.Mechanism == MechanismPlain {
		exposed = "PLAIN without TLS sends the password in the clear"
	}
	w.when(sasl.Enabled() && !w.Kafka.TLS.Enabled, "kafka.sasl.mechanism", exposed, "set kafka.tls.enabled: true")
	w.when(len(w.Kafka.Brokers) > 1 && w.Topics.ReplicationFactor == 1, "topics.replication_factor",
		"there are several brokers, but each created topic has one replica: if its broker is lost, its records are lost", "set topics.replication_factor: 3")
	open := slices.ContainsFunc(r.URLs(), func(url string) bool { return !strings.HasPrefix(strings.ToLower(url), "https:") })
	w.when(open && r.PasswordEnv+r.PasswordFile+r.TokenEnv+r.TokenFile != "", "schema_registry.url", "http sends the password or the token in the clear", "write https")
}

// steps warns about the URLs of remote steps.
func (w *warner) steps() {
	names := newNames(w.Transform)
	for i, step := range w.Enrich {
		for path, p := range step.at(entry("enrich", i)) {
			if p.HTTP == nil {
				continue
			}
			path += ".http"
			secret, host := secretParameter(p.HTTP.URL), privateHost(p.HTTP.URL)
			w.when(secret != "", path+".url", "the parameter "+show(secret)+" looks like a secret in the file", "use a service that needs no secret, or a proxy that adds it")
			w.when(host != "" && !p.HTTP.AllowPrivate && len(p.HTTP.AllowNetworks) == 0, path+".url", host+" is not a public address, and every request to it is refused (address_refused)",
				"set "+path+".allow_private: true, or list its network in allow_networks")
			parts, _ := template.Parse(p.HTTP.URL)
			for _, part := range parts {
				property, ok := strings.CutPrefix(part.Name, "properties.")
				w.when(ok && !names.given(property), path+".url", show("{"+part.Name+"}")+" is set by no field, constant or earlier step, so every feature fails here (missing_required)", names.meant(property))
			}
		}
		names.add(slices.Collect(maps.Keys(step.Set))...)
		names.add(step.SetProvider)
	}
}

// names are the property names of the mapped feature that a step receives. A step that uses another name fails for every
// feature. An example is the source name of a property whose target name is needed.
type names struct {
	known  map[string]bool
	target map[string]string // target names by source name
	open   bool              // the file does not list all properties, because it has no fields or keeps unmapped properties
}

func newNames(t transform.Config) *names {
	n := &names{map[string]bool{}, map[string]string{}, len(t.Fields) == 0 || t.Unmapped != transform.UnmappedDrop}
	n.add(t.Geometry.FlagProperty)
	n.add(slices.Collect(maps.Keys(t.Constants))...)
	for _, f := range t.Fields {
		n.add(f.To)
		n.target[f.From] = f.To
	}
	return n
}

func (n *names) add(more ...string) {
	for _, name := range more {
		if name != "" {
			n.known[name] = true
		}
	}
}

// given reports whether a property may exist: under its own name, inside another property, or as the beginning of a
// flattened property.
func (n *names) given(property string) bool {
	for name := range n.known {
		if strings.HasPrefix(property+".", name+".") || strings.HasPrefix(name, property+".") || strings.HasPrefix(property, name) {
			return true
		}
	}
	return n.open
}

// meant returns a fix that names the properties the user probably meant.
func (n *names) meant(property string) string {
	if to := n.target[property]; to != "" {
		return "a step sees the mapped feature: write {properties." + to + "}"
	}
	all := slices.Sorted(maps.Keys(n.known))
	return "a step sees the mapped feature, which has " + strings.Join(all[:min(len(all), 8)], ", ") + "; add a field, or fix the name"
}

// privateHost returns the host of a URL if it is a non-public address or localhost, and "" otherwise.
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

// secretParameter returns a parameter of a URL template that looks like a secret and has its value in the file, or "".
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
