package config

import "math"

// EnrichStep asks a remote service about a feature and writes parts of the answer into it.
type EnrichStep struct {
	// Name names the step in errors and metrics: letters, digits, underscore and hyphen, each name once. Mandatory.
	Name string `example:"place" jsonschema:"required,pattern=^[a-zA-Z0-9_-]+$,maxLength=64" yaml:"name"`
	// HTTP is the service, when there is one provider only: short for providers with one entry that is named as the step. A step needs http, sql or providers.
	HTTP *HTTPLookup `yaml:"http,omitempty"`
	// SQL is the database, when there is one provider only: short for providers in the same way.
	SQL *SQLLookup `yaml:"sql,omitempty"`
	// Providers are who can answer, in the order in which they are asked: the next one only when those before are held back or fail transiently.
	Providers []Provider `jsonschema:"maxItems=16" yaml:"providers,omitempty"`
	// Set maps a property of the feature to a JSON pointer (RFC 6901) into the answer. Mandatory, at least one.
	Set map[string]string `example:"{place_name: /name}" jsonschema:"required" yaml:"set"`
	// SetProvider is a property that takes the name of the provider that answered. Defaults to none.
	SetProvider string `yaml:"set_provider,omitempty"`
	// Required says what a pointer that leads nowhere means: true makes it a failure of the record (nothing becomes null in silence), false writes null. Defaults to true.
	Required bool `jsonschema:"default=true" yaml:"required"`
	// Retries is how often a provider is asked again at once for a failure that is gone at once, such as a deadlock. Steps before it are not run again. Defaults to 3.
	Retries int `jsonschema:"minimum=0,maximum=10,default=3" yaml:"retries"`
}

// Lookups gives the providers of the step in their order, whichever way they were written.
func (s EnrichStep) Lookups() []Provider {
	if s.HTTP != nil || s.SQL != nil {
		return []Provider{{Name: s.Name, HTTP: s.HTTP, SQL: s.SQL}}
	}
	return s.Providers
}

// Provider is one service that can answer for a step.
type Provider struct {
	// Name names the provider in errors, logs and metrics, each name once in a step. Mandatory.
	Name string `example:"mirror" jsonschema:"required,pattern=^[a-zA-Z0-9_-]+$,maxLength=64" yaml:"name"`
	// HTTP is a service that is asked over HTTP.
	HTTP *HTTPLookup `yaml:"http,omitempty"`
	// SQL is a PostgreSQL database. A provider needs http or sql.
	SQL *SQLLookup `yaml:"sql,omitempty"`
}

// Bounds gives what a provider has whichever way it is asked: the time limit of one request, how many run at once, and the
// breaker, which is nil when there is none.
func (p Provider) Bounds() (timeout Duration, connections int, breaker *Breaker) {
	switch {
	case p.HTTP != nil:
		return p.HTTP.Timeout, p.HTTP.MaxConnections, p.HTTP.Breaker
	case p.SQL != nil:
		return p.SQL.Timeout, p.SQL.MaxConnections, p.SQL.Breaker
	default:
		return 0, 0, nil
	}
}

// Rate is a limit that the client keeps by itself.
type Rate struct {
	// PerSecond is how many requests may begin in a second. Mandatory.
	PerSecond float64 `example:"50" jsonschema:"required,exclusiveMinimum=0,maximum=1000000" yaml:"per_second"`
	// Burst is how many may begin at once after a pause. Defaults to 1.
	Burst int `jsonschema:"minimum=1,maximum=1000000,default=1" yaml:"burst"`
}

// Cache keeps the answers of a provider in memory. Failures are never kept.
type Cache struct {
	// TTL is how long an answer is taken for true. Defaults to 10m.
	TTL Duration `jsonschema:"default=10m" least:"1s" most:"720h" yaml:"ttl"`
	// MaxEntries is how many answers are kept; those that are asked for least go first. Defaults to 10000.
	MaxEntries int `jsonschema:"minimum=1,maximum=10000000,default=10000" yaml:"max_entries"`
}

// Breaker says when a service counts as down, and when it is tried again. Timeouts, network errors and the statuses 502,
// 503, 504 count as failures, and 500 when it is retryable; 429 and answers about one feature, such as 404, do not.
type Breaker struct {
	// Preset gives the values that are not written. steady opens at 5 failures in 60s that are at least half of the last 20 requests; standard at 5 failures in 60s, however many requests succeed meanwhile (S4-5); both with 2 successes and 30s of cooldown. patient is 3 failures in 300s, 1 success, 300s of cooldown (S3-5). Defaults to steady.
	Preset BreakerPreset `jsonschema:"enum=steady,enum=standard,enum=patient,default=steady" yaml:"preset"`
	// Failures are how many there must be within the window, at the least, to open the breaker. Defaults to 5.
	Failures int `jsonschema:"minimum=1,maximum=10000,default=5" yaml:"failures"`
	// FailureRate is the share of the requests that must have failed besides, from 0 to 1; 0 asks for none. Defaults to 0.5; with the presets standard and patient to 0.
	FailureRate float64 `jsonschema:"minimum=0,maximum=1,default=0.5" yaml:"failure_rate"`
	// Among is of how many of the latest requests within the window failure_rate is the share; 0 takes all within the window. Defaults to 20; with the presets standard and patient to 0.
	Among int `jsonschema:"minimum=0,maximum=1000,default=20" yaml:"among"`
	// Window is how long a failure counts. Defaults to 60s.
	Window Duration `jsonschema:"default=60s" least:"1s" most:"24h" yaml:"window"`
	// Cooldown is how long nothing is sent once the breaker is open; then one request probes. Defaults to 30s.
	Cooldown Duration `jsonschema:"default=30s" least:"100ms" most:"24h" yaml:"cooldown"`
	// Successes of probes, one after another, close the breaker; a failed one begins the next cooldown. Defaults to 2.
	Successes int `jsonschema:"minimum=1,maximum=1000,default=2" yaml:"successes"`
}

// Opens gives how many failures in a row open the breaker, after requests that all succeeded.
func (b Breaker) Opens() int {
	return max(b.Failures, int(math.Ceil(b.FailureRate*float64(b.Among))))
}
