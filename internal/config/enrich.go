package config

// EnrichStep asks a remote service about a feature and writes parts of the answer into it.
type EnrichStep struct {
	// Name names the step in errors and metrics: letters, digits, underscore and hyphen, each name once. Mandatory.
	Name string `example:"place" jsonschema:"required,pattern=^[a-zA-Z0-9_-]+$,maxLength=64" yaml:"name"`
	// HTTP is the service. Mandatory.
	HTTP HTTPStep `jsonschema:"required" yaml:"http"`
	// Set maps a property of the feature to a JSON pointer (RFC 6901) into the answer. Mandatory, at least one.
	Set map[string]string `example:"{place_name: /name}" jsonschema:"required" yaml:"set"`
	// Required says what a pointer that leads nowhere means: true makes it a failure of the record (nothing becomes null in silence), false writes null. Defaults to true.
	Required bool `jsonschema:"default=true" yaml:"required"`
}

// HTTPStep is one GET for one feature.
type HTTPStep struct {
	// URL is http or https. Braces in its path or query name a value of the feature, {id} or {properties.name}; it is always escaped. Mandatory.
	URL string `example:"\"http://127.0.0.1:8088/place?id={properties.parcel_id}\"" jsonschema:"required,pattern=^https?://[^/?#@{}]+([/?][^#]*)?$" yaml:"url"`
	// Timeout is how long one request may take, its answer included. Defaults to 2s.
	Timeout Duration `jsonschema:"default=2s" least:"1ms" most:"1h" yaml:"timeout"`
	// MaxConnections is how many requests run at once. Defaults to 32.
	MaxConnections int `jsonschema:"minimum=1,maximum=10000,default=32" yaml:"max_connections"`
	// MaxResponseBytes is the largest answer that is read. Defaults to 1048576 (1 MiB).
	MaxResponseBytes int `jsonschema:"minimum=1,maximum=1073741824,default=1048576" yaml:"max_response_bytes"`
	// Breaker stops the requests while the service is down; records that need it are then held and spend no attempts. Write {} for the defaults. Defaults to none.
	Breaker *Breaker `yaml:"breaker,omitempty"`
}

// Breaker says when a service counts as down, and when it is tried again. Its defaults are those of S4-5. Timeouts,
// network errors and the statuses 502, 503, 504 count as failures, and 500 when it is retryable; 429 and answers about
// one feature, such as 404, do not.
type Breaker struct {
	// Failures within the window open the breaker. Defaults to 5.
	Failures int `jsonschema:"minimum=1,maximum=10000,default=5" yaml:"failures"`
	// Window is how long a failure counts. Defaults to 60s.
	Window Duration `jsonschema:"default=60s" least:"1s" most:"24h" yaml:"window"`
	// Cooldown is how long nothing is sent once the breaker is open; then one request probes. Defaults to 30s.
	Cooldown Duration `jsonschema:"default=30s" least:"100ms" most:"24h" yaml:"cooldown"`
	// Successes of probes, one after another, close the breaker; a failed one begins the next cooldown. Defaults to 2.
	Successes int `jsonschema:"minimum=1,maximum=1000,default=2" yaml:"successes"`
}
