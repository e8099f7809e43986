package config

import (
	"iter"
	"math"
	"reflect"
)

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
	// Name names the provider in errors, logs and metrics, each name once in a step. Mandatory.
	Name string `example:"mirror" jsonschema:"required,pattern=^[a-zA-Z0-9_-]+$,maxLength=64" yaml:"name"`
	// HTTP is a service that is asked over HTTP.
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

// Opens returns the number of consecutive failures that open the breaker after a run of successful requests.
func (b Breaker) Opens() int {
	return max(b.Failures, int(math.Ceil(b.FailureRate*float64(b.Among))))
}

// HTTPLookup is one request for one feature.
type HTTPLookup struct {
	// URL is http or https. Braces in its path or query name a value of the feature, {id} or {properties.name}; it is always escaped. Mandatory.
	URL string `example:"\"https://places.example/place?id={properties.parcel_id}\"" jsonschema:"required,pattern=^https?://[^/?#@{}]+([/?][^#]*)?$" yaml:"url"`
	// Method is GET or POST. A POST must be declared idempotent. Defaults to GET.
	Method HTTPMethod `jsonschema:"enum=GET,enum=POST,default=GET" yaml:"method"`
	// Idempotent declares that the service does the same however often one request comes. A POST needs it, since requests are repeated; it carries the event's content hash as Idempotency-Key. Defaults to false.
	Idempotent bool `jsonschema:"default=false" yaml:"idempotent"`
	// Body is what a POST sends, as JSON: any value, in whose texts braces name values of the feature as in the URL. A text that is one name in braces alone takes the value with its type. Defaults to none.
	Body any `yaml:"body,omitempty"`
	// Answer is what comes back: json as it is, or geojson, of which a collection must hold one feature, which is then the answer. Defaults to json.
	Answer AnswerFormat `jsonschema:"enum=json,enum=geojson,default=json" yaml:"answer"`
	// WFS asks a WFS 2.0 service (OGC 09-025) at url for one feature by GetFeature, as GeoJSON.
	WFS *WFSLookup `yaml:"wfs,omitempty"`
	// STAC asks a STAC API at url for one item.
	STAC *STACLookup `yaml:"stac,omitempty"`
	// Timeout is how long one request may take, its answer included. Defaults to 2s.
	Timeout Duration `jsonschema:"default=2s" least:"1ms" most:"1h" yaml:"timeout"`
	// MaxConnections is how many requests run at once. Defaults to 32.
	MaxConnections int `jsonschema:"minimum=1,maximum=10000,default=32" yaml:"max_connections"`
	// MaxResponseBytes is the largest answer that is read. Defaults to 1048576 (1 MiB).
	MaxResponseBytes int `jsonschema:"minimum=1,maximum=1073741824,default=1048576" yaml:"max_response_bytes"`
	// MaxRedirects is how many redirects are followed, to the same host and never from https to http. Defaults to 3.
	MaxRedirects int `jsonschema:"minimum=0,maximum=10,default=3" yaml:"max_redirects"`
	// AllowPrivate lets the service have a loopback or private address. Without it a name that leads to one is refused when it is dialled; addresses of cloud metadata, link-local and multicast addresses are refused even so. Defaults to false.
	AllowPrivate bool `jsonschema:"default=false" yaml:"allow_private"`
	// AllowNetworks lists networks in CIDR form whose addresses the service may have, whatever they are. Defaults to none.
	AllowNetworks []string `example:"[10.20.0.0/16]" jsonschema:"maxItems=64" yaml:"allow_networks,omitempty"`
	// RetryAfter says whom a Retry-After of an answer 429 or 503 concerns: service holds every further request until then, record delays only the record that was refused. Defaults to service.
	RetryAfter RetryAfterScope `jsonschema:"enum=service,enum=record,default=service" yaml:"retry_after"`
	// Rate is how many requests this instance sends in a second. Defaults to no limit.
	Rate *Rate `yaml:"rate,omitempty"`
	// Cache keeps answers in memory and lets records that ask the same at the same time share one request. Write {} for the defaults. Defaults to none.
	Cache *Cache `yaml:"cache,omitempty"`
	// Breaker stops the requests while the service is down; records that need it are then held and spend no attempts. Write {} for the defaults. Defaults to none.
	Breaker *Breaker `yaml:"breaker,omitempty"`
}

// WFSLookup says which feature of a WFS is wanted: the one with an id, or the one whose properties have certain values.
type WFSLookup struct {
	// TypeName is the feature type, with its prefix. Mandatory.
	TypeName string `example:"cad:parcels" jsonschema:"required,minLength=1" yaml:"type_name"`
	// ID is the feature's id in the WFS, with names in braces as in a URL.
	ID string `yaml:"id,omitempty"`
	// Where maps a property of the type to the value that it must have, with names in braces as in a URL.
	Where map[string]string `yaml:"where,omitempty"`
	// Properties lists the properties that are wanted. Defaults to all.
	Properties []string `jsonschema:"maxItems=100" yaml:"properties,omitempty"`
	// OutputFormat is what the service calls GeoJSON. Defaults to application/json.
	OutputFormat string `jsonschema:"default=application/json" yaml:"output_format"`
}

// STACLookup says which item of a STAC API is wanted.
type STACLookup struct {
	// Collection is the id of the collection, with names in braces as in a URL. Mandatory.
	Collection string `example:"\"sentinel-2-l2a\"" jsonschema:"required,minLength=1" yaml:"collection"`
	// Item is the id of the item, with names in braces as in a URL. Mandatory.
	Item string `example:"\"{properties.scene}\"" jsonschema:"required,minLength=1" yaml:"item"`
}

// SQLLookup is one query for one feature, in a transaction of its own that only reads.
type SQLLookup struct {
	// DSNEnv names the environment variable with the connection string of PostgreSQL. One of dsn_env and dsn_file is needed.
	DSNEnv string `echo:"no" example:"PLACES_DSN" jsonschema:"pattern=^([A-Za-z_][A-Za-z0-9_]*)?$" yaml:"dsn_env,omitempty"`
	// DSNFile names a file with the connection string.
	DSNFile string `echo:"no" yaml:"dsn_file,omitempty"`
	// Query is one select, whose parameters are $1, $2 and so on. Values never go into its text. Mandatory.
	Query string `example:"\"select name from places where id = $1\"" jsonschema:"required,minLength=1" yaml:"query"`
	// Args are the values of $1, $2 and so on: id, properties.name, or geometry, which is given as GeoJSON. A feature that lacks one fails. Defaults to none.
	Args []string `example:"[properties.parcel_id]" jsonschema:"maxItems=100" yaml:"args,omitempty"`
	// Timeout is how long one query may take, from its begin to its last row. Defaults to 2s.
	Timeout Duration `jsonschema:"default=2s" least:"10ms" most:"1h" yaml:"timeout"`
	// MaxConnections is how many queries run at once, each on a connection of its own. Defaults to 4.
	MaxConnections int `jsonschema:"minimum=1,maximum=1000,default=4" yaml:"max_connections"`
	// MaxRows is how many rows an answer may have; one more makes it a failure of the record. With 1 the answer is the row, with more it is a list of rows. Defaults to 1.
	MaxRows int `jsonschema:"minimum=1,maximum=10000,default=1" yaml:"max_rows"`
	// MaxResponseBytes is the largest answer that is read, as JSON. Defaults to 1048576 (1 MiB).
	MaxResponseBytes int `jsonschema:"minimum=1,maximum=1073741824,default=1048576" yaml:"max_response_bytes"`
	// Rate is how many queries this instance sends in a second. Defaults to no limit.
	Rate *Rate `yaml:"rate,omitempty"`
	// Cache keeps answers in memory and lets records that ask the same at the same time share one query. Write {} for the defaults. Defaults to none.
	Cache *Cache `yaml:"cache,omitempty"`
	// Breaker stops the queries while the database is down; records that need it are then held and spend no attempts. Write {} for the defaults. Defaults to none.
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
		if k, ok := findKey(reflect.TypeFor[Breaker](), key); ok && !c.origins.byHand(path+"."+key) {
			assign(reflect.ValueOf(b).Elem().Field(k.index), written{variableValue, value})
		}
	}
}
