package config

import (
	"iter"
	"math"
	"reflect"
)

// EnrichStep requests data about a feature from a remote service and writes parts of the answer into the feature.
type EnrichStep struct {
	// Name names the step in errors and metrics: letters, digits, underscore and hyphen. Each name is unique. Mandatory.
	Name string `example:"place" jsonschema:"required,pattern=^[a-zA-Z0-9_-]+$,maxLength=64" yaml:"name"`
	// HTTP is the service of a step with a single provider. It is short for providers with one entry named as the step. A step needs http, sql or providers.
	HTTP *HTTPLookup `yaml:"http,omitempty"`
	// SQL is the database of a step with a single provider. It is short for providers in the same way.
	SQL *SQLLookup `yaml:"sql,omitempty"`
	// Providers lists the services that can answer, in the order of the requests. The next provider is asked only if the previous ones send nothing now or fail transiently.
	Providers []Provider `jsonschema:"maxItems=16" yaml:"providers,omitempty"`
	// Set maps a property of the feature to a JSON pointer (RFC 6901) into the answer. Mandatory, at least one.
	Set map[string]string `example:"{place_name: /name}" jsonschema:"required" yaml:"set"`
	// SetProvider is a property that receives the name of the provider that answered. Defaults to none.
	SetProvider string `yaml:"set_provider,omitempty"`
	// Required sets the result of a pointer without a value in the answer. true makes the record fail, so that no value becomes null unnoticed; false writes null. Defaults to true.
	Required bool `jsonschema:"default=true" yaml:"required"`
	// Retries is the number of immediate repetitions of a request after a momentary failure, such as a deadlock. Earlier steps are not run again. Defaults to 3.
	Retries int `jsonschema:"minimum=0,maximum=10,default=3" yaml:"retries"`
}

// Lookups returns the providers of the step in order, for the short and the long form.
func (s EnrichStep) Lookups() []Provider {
	if s.HTTP != nil || s.SQL != nil {
		return []Provider{{Name: s.Name, HTTP: s.HTTP, SQL: s.SQL}}
	}
	return s.Providers
}

// at iterates over the providers of the step with their paths below path, for the short and the long form.
func (s EnrichStep) at(path string) iter.Seq2[string, Provider] {
	return func(yield func(string, Provider) bool) {
		if (s.HTTP != nil || s.SQL != nil) && !yield(path, Provider{Name: s.Name, HTTP: s.HTTP, SQL: s.SQL}) {
			return
		}
		for i, p := range s.Providers {
			if !yield(entry(path+".providers", i), p) {
				return
			}
		}
	}
}

// Provider is one service that can answer for a step.
type Provider struct {
	// Name names the provider in errors, logs and metrics. Each name is unique in its step. Mandatory.
	Name string `example:"mirror" jsonschema:"required,pattern=^[a-zA-Z0-9_-]+$,maxLength=64" yaml:"name"`
	// HTTP is a service with an HTTP interface.
	HTTP *HTTPLookup `yaml:"http,omitempty"`
	// SQL is a PostgreSQL database. A provider needs http or sql.
	SQL *SQLLookup `yaml:"sql,omitempty"`
}

// Bounds are the keys that protect a provider, for HTTP and SQL.
type Bounds struct {
	Timeout        Duration // limit for one request
	MaxConnections int      // limit for concurrent requests
	Rate           *Rate    // nil if there is none; the same applies to the fields below
	Cache          *Cache
	Breaker        *Breaker
}

// Bounds returns the bounds of the provider.
func (p Provider) Bounds() Bounds {
	switch {
	case p.HTTP != nil:
		return Bounds{p.HTTP.Timeout, p.HTTP.MaxConnections, p.HTTP.Rate, p.HTTP.Cache, p.HTTP.Breaker}
	case p.SQL != nil:
		return Bounds{p.SQL.Timeout, p.SQL.MaxConnections, p.SQL.Rate, p.SQL.Cache, p.SQL.Breaker}
	default:
		return Bounds{}
	}
}

// Rate is a limit that the client keeps by itself.
type Rate struct {
	// PerSecond is the largest number of requests that begin in one second. Mandatory.
	PerSecond float64 `example:"50" jsonschema:"required,exclusiveMinimum=0,maximum=1000000" yaml:"per_second"`
	// Burst is the largest number of requests that begin at once after a pause. Defaults to 1.
	Burst int `jsonschema:"minimum=1,maximum=1000000,default=1" yaml:"burst"`
}

// Cache keeps the answers of a provider in memory. Failures are never kept.
type Cache struct {
	// TTL is how long a cached answer is valid. Defaults to 10m.
	TTL Duration `jsonschema:"default=10m" least:"1s" most:"720h" yaml:"ttl"`
	// MaxEntries is the number of answers that are kept; the least requested answers are removed first. Defaults to 10000.
	MaxEntries int `jsonschema:"minimum=1,maximum=10000000,default=10000" yaml:"max_entries"`
}

// Breaker sets when a service counts as down, and when it is tried again. Timeouts, network errors and the statuses 502,
// 503 and 504 count as failures, and 500 if it is retryable. 429 and answers about one feature, such as 404, do not.
type Breaker struct {
	// Preset sets the values that are not written. steady opens at 5 failures in 60s, if at least half of the last 20 requests failed. standard opens at 5 failures in 60s, however many requests succeed meanwhile (S4-5). Both use 2 successes and 30s of cooldown. patient uses 3 failures in 300s, 1 success and 300s of cooldown (S3-5). Defaults to steady.
	Preset BreakerPreset `jsonschema:"enum=steady,enum=standard,enum=patient,default=steady" yaml:"preset"`
	// Failures is the smallest number of failures within the window that opens the breaker. Defaults to 5.
	Failures int `jsonschema:"minimum=1,maximum=10000,default=5" yaml:"failures"`
	// FailureRate is the share of requests that must also have failed to open the breaker, from 0 to 1. 0 requires no share. Defaults to 0.5; with the presets standard and patient to 0.
	FailureRate float64 `jsonschema:"minimum=0,maximum=1,default=0.5" yaml:"failure_rate"`
	// Among is the number of latest requests within the window that failure_rate refers to; 0 means all of them. Defaults to 20; with the presets standard and patient to 0.
	Among int `jsonschema:"minimum=0,maximum=1000,default=20" yaml:"among"`
	// Window is how long a failure counts. Defaults to 60s.
	Window Duration `jsonschema:"default=60s" least:"1s" most:"24h" yaml:"window"`
	// Cooldown is how long an open breaker sends no requests; after it, one request probes. Defaults to 30s.
	Cooldown Duration `jsonschema:"default=30s" least:"100ms" most:"24h" yaml:"cooldown"`
	// Successes is the number of consecutive successful probes that close the breaker; a failed probe begins the next cooldown. Defaults to 2.
	Successes int `jsonschema:"minimum=1,maximum=1000,default=2" yaml:"successes"`
}

// Opens returns the number of consecutive failures that open the breaker after a run of successful requests.
func (b Breaker) Opens() int {
	return max(b.Failures, int(math.Ceil(b.FailureRate*float64(b.Among))))
}

// HTTPLookup is one HTTP request for one feature.
type HTTPLookup struct {
	// URL is an http or https address. Braces in its path or query name a value of the feature, such as {id} or {properties.name}. The value is always escaped. Mandatory.
	URL string `example:"\"https://places.example/place?id={properties.parcel_id}\"" jsonschema:"required,pattern=^https?://[^/?#@{}]+([/?][^#]*)?$" yaml:"url"`
	// Method is GET or POST. A POST must be declared idempotent. Defaults to GET.
	Method HTTPMethod `jsonschema:"enum=GET,enum=POST,default=GET" yaml:"method"`
	// Idempotent declares that repeated requests have the same effect as one. A POST needs it, because requests are repeated. The POST carries the content hash of the event as Idempotency-Key. Defaults to false.
	Idempotent bool `jsonschema:"default=false" yaml:"idempotent"`
	// Body is the body of a POST, as JSON of any type. Braces in its texts name values of the feature, as in the URL. A text that consists of one name in braces becomes the value with its type. Defaults to none.
	Body any `yaml:"body,omitempty"`
	// Answer is the form of the answer. json uses the answer unchanged. geojson accepts a feature, or a collection with exactly one feature, which becomes the answer. Defaults to json.
	Answer AnswerFormat `jsonschema:"enum=json,enum=geojson,default=json" yaml:"answer"`
	// WFS requests one feature from a WFS 2.0 service (OGC 09-025) at url by GetFeature, as GeoJSON.
	WFS *WFSLookup `yaml:"wfs,omitempty"`
	// STAC requests one item from a STAC API at url.
	STAC *STACLookup `yaml:"stac,omitempty"`
	// Timeout is the longest time of one request, including its answer. Defaults to 2s.
	Timeout Duration `jsonschema:"default=2s" least:"1ms" most:"1h" yaml:"timeout"`
	// MaxConnections is the largest number of requests at once. Defaults to 32.
	MaxConnections int `jsonschema:"minimum=1,maximum=10000,default=32" yaml:"max_connections"`
	// MaxResponseBytes is the size of the largest answer that is read. Defaults to 1048576 (1 MiB).
	MaxResponseBytes int `jsonschema:"minimum=1,maximum=1073741824,default=1048576" yaml:"max_response_bytes"`
	// MaxRedirects is the largest number of redirects that are followed. Redirects must stay on the same host and never go from https to http. Defaults to 3.
	MaxRedirects int `jsonschema:"minimum=0,maximum=10,default=3" yaml:"max_redirects"`
	// AllowPrivate permits loopback and private addresses for the service. Without it, connections to such addresses are refused. Cloud metadata, link-local and multicast addresses are always refused. Defaults to false.
	AllowPrivate bool `jsonschema:"default=false" yaml:"allow_private"`
	// AllowNetworks lists networks in CIDR form. The service may have any address in them. Defaults to none.
	AllowNetworks []string `example:"[10.20.0.0/16]" jsonschema:"maxItems=64" yaml:"allow_networks,omitempty"`
	// RetryAfter sets the scope of Retry-After in an answer 429 or 503. service holds all further requests until then. record delays only the refused record. Defaults to service.
	RetryAfter RetryAfterScope `jsonschema:"enum=service,enum=record,default=service" yaml:"retry_after"`
	// Rate limits the requests that this instance sends per second. Defaults to no limit.
	Rate *Rate `yaml:"rate,omitempty"`
	// Cache keeps answers in memory. Records that need the same answer at the same time share one request. Write {} for the defaults. Defaults to none.
	Cache *Cache `yaml:"cache,omitempty"`
	// Breaker stops the requests while the service is down. Records that need the service are then deferred and spend no attempts. Write {} for the defaults. Defaults to none.
	Breaker *Breaker `yaml:"breaker,omitempty"`
}

// WFSLookup selects a feature of a WFS by its id or by values of its properties.
type WFSLookup struct {
	// TypeName is the feature type, with its prefix. Mandatory.
	TypeName string `example:"cad:parcels" jsonschema:"required,minLength=1" yaml:"type_name"`
	// ID is the id of the feature in the WFS, with names in braces as in a URL.
	ID string `yaml:"id,omitempty"`
	// Where maps properties of the type to their required values, with names in braces as in a URL.
	Where map[string]string `yaml:"where,omitempty"`
	// Properties lists the requested properties. Defaults to all.
	Properties []string `jsonschema:"maxItems=100" yaml:"properties,omitempty"`
	// OutputFormat is the name that the service uses for GeoJSON. Defaults to application/json.
	OutputFormat string `jsonschema:"default=application/json" yaml:"output_format"`
}

// STACLookup selects an item of a STAC API.
type STACLookup struct {
	// Collection is the id of the collection, with names in braces as in a URL. Mandatory.
	Collection string `example:"\"sentinel-2-l2a\"" jsonschema:"required,minLength=1" yaml:"collection"`
	// Item is the id of the item, with names in braces as in a URL. Mandatory.
	Item string `example:"\"{properties.scene}\"" jsonschema:"required,minLength=1" yaml:"item"`
}

// SQLLookup is one query for one feature, in its own read-only transaction.
type SQLLookup struct {
	// DSNEnv names the environment variable with the PostgreSQL connection string. One of dsn_env and dsn_file is needed.
	DSNEnv string `echo:"no" example:"PLACES_DSN" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"dsn_env,omitempty"`
	// DSNFile names a file with the connection string.
	DSNFile string `echo:"no" yaml:"dsn_file,omitempty"`
	// Query is a single select statement with the parameters $1, $2 and so on. Values are never inserted into its text. Mandatory.
	Query string `example:"\"select name from places where id = $1\"" jsonschema:"required,minLength=1" yaml:"query"`
	// Args lists the values of $1, $2 and so on: id, properties.name, or geometry, which is passed as GeoJSON. A feature without one of these values fails. Defaults to none.
	Args []string `example:"[properties.parcel_id]" jsonschema:"maxItems=100" yaml:"args,omitempty"`
	// Timeout is the longest time of one query, from its start to its last row. Defaults to 2s.
	Timeout Duration `jsonschema:"default=2s" least:"10ms" most:"1h" yaml:"timeout"`
	// MaxConnections is the largest number of queries at once, each on its own connection. Defaults to 4.
	MaxConnections int `jsonschema:"minimum=1,maximum=1000,default=4" yaml:"max_connections"`
	// MaxRows is the largest number of rows of an answer; with more rows the record fails. With 1 the answer is the row, otherwise a list of rows. Defaults to 1.
	MaxRows int `jsonschema:"minimum=1,maximum=10000,default=1" yaml:"max_rows"`
	// MaxResponseBytes is the size of the largest answer that is read, as JSON. Defaults to 1048576 (1 MiB).
	MaxResponseBytes int `jsonschema:"minimum=1,maximum=1073741824,default=1048576" yaml:"max_response_bytes"`
	// Rate limits the queries that this instance sends per second. Defaults to no limit.
	Rate *Rate `yaml:"rate,omitempty"`
	// Cache keeps answers in memory. Records that need the same answer at the same time share one query. Write {} for the defaults. Defaults to none.
	Cache *Cache `yaml:"cache,omitempty"`
	// Breaker stops the queries while the database is down. Records that need the database are then deferred and spend no attempts. Write {} for the defaults. Defaults to none.
	Breaker *Breaker `yaml:"breaker,omitempty"`
}

// DSN reads the connection string from the environment variable or the file. Errors name keys below path.
func (s SQLLookup) DSN(path string) (Secret, error) {
	return ReadSecret(path+".dsn", "connection string", s.DSNEnv, s.DSNFile)
}

// fillBreakers sets the values of each breaker that were not written to those of its preset. The preset steady has the
// default values.
func fillBreakers(c *Config) {
	if s := c.Sink.PostGIS; s != nil {
		c.fillBreaker("sink.postgis.breaker", &s.Breaker)
	}
	for i, step := range c.Enrich {
		for path, p := range step.at(entry("enrich", i)) {
			b := p.Bounds().Breaker
			if kind := ".http"; b != nil {
				if p.HTTP == nil {
					kind = ".sql"
				}
				c.fillBreaker(path+kind+".breaker", b)
			}
		}
	}
}

func (c *Config) fillBreaker(path string, b *Breaker) {
	values := map[BreakerPreset]map[string]string{
		BreakerStandard: {"failure_rate": "0", "among": "0"},
		BreakerPatient:  {"failure_rate": "0", "among": "0", "failures": "3", "window": "5m", "cooldown": "5m", "successes": "1"},
	}
	for key, value := range values[b.Preset] {
		if k, ok := findKey(reflect.TypeFor[Breaker](), key); ok && !c.origins.explicit(path+"."+key) {
			assign(reflect.ValueOf(b).Elem().Field(k.index), written{variableValue, value})
		}
	}
}
