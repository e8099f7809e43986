package config

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
