package classify

import "slices"

// Code is what happened. The list is closed, so a code can be a metric label.
type Code string

// Faults of a record's bytes.
const (
	CodeNotJSON          Code = "not_json"
	CodeTruncatedJSON    Code = "truncated_json"
	CodeInvalidUTF8      Code = "invalid_utf8"
	CodeDuplicateKey     Code = "duplicate_key"
	CodeTrailingData     Code = "trailing_data"
	CodeTooDeep          Code = "too_deep"
	CodeWrongType        Code = "wrong_type"
	CodeNotAFeature      Code = "not_a_feature"
	CodeEmptyValue       Code = "empty_value"
	CodeNullKey          Code = "null_key"
	CodeRecordTooLarge   Code = "record_too_large"
	CodeLimitExceeded    Code = "limit_exceeded"
	CodeMalformedHeader  Code = "malformed_header"
	CodeBatchUnreadable  Code = "batch_unreadable"  // the record's batch cannot be decompressed
	CodeMemberCase       Code = "member_case"       // a member that differs from a GeoJSON member in case only
	CodeNullOrdinate     Code = "null_ordinate"     // null instead of a position or an ordinate
	CodeNumberRange      Code = "number_range"      // a number outside of a double's range
	CodeValueUnavailable Code = "value_unavailable" // a column that the database did not send, with Debezium's placeholder instead
	CodeNumberPrecision  Code = "number_precision"  // a whole number that its type cannot hold exactly
)

// Faults of a record's envelope, or of a format inside it.
const (
	CodeEnvelopeMalformed   Code = "envelope_malformed"   // CloudEvents, Debezium, or an unknown content type
	CodeAvroDecode          Code = "avro_decode"          // the bytes do not fit their schema
	CodeSchemaUnknown       Code = "schema_unknown"       // no schema with this ID or fingerprint, or one that cannot be used
	CodeWKBMalformed        Code = "wkb_malformed"        // WKB or EWKB
	CodeWKTMalformed        Code = "wkt_malformed"        // WKT or EWKT
	CodeUnsupportedGeometry Code = "unsupported_geometry" // a type beyond the seven of GeoJSON: a curve, a solid
)

// Faults of a feature.
const (
	CodeUnknownCRS        Code = "unknown_crs"
	CodeGeometryStructure Code = "geometry_structure"
	CodeGeometryInvalid   Code = "geometry_invalid"
	CodeGeometryEmpty     Code = "geometry_empty"
	CodeGeometryType      Code = "geometry_type"
	CodeCoordinateRange   Code = "coordinate_range"
	CodeMissingRequired   Code = "missing_required"
	CodeCoercionFailed    Code = "coercion_failed"
	CodeFlattenConflict   Code = "flatten_conflict"
	CodeOutputTooLarge    Code = "output_too_large"

	CodeCRSConflict          Code = "crs_conflict"           // the record names one system, the configuration or the record itself another
	CodeGeometryNotSimple    Code = "geometry_not_simple"    // a line that crosses itself, or a repeated position
	CodeGeometryDimension    Code = "geometry_dimension"     // heights where none are allowed, or none where they are required
	CodeAntimeridian         Code = "antimeridian"           // a geometry across the 180th meridian that is not cut, or cannot be
	CodeVersionInFuture      Code = "version_in_future"      // a version further in the future than the pipeline accepts
	CodeBBoxMismatch         Code = "bbox_mismatch"          // a bbox that differs from the geometry's
	CodePrecisionDegraded    Code = "precision_degraded"     // coordinates coarser than declared
	CodeValueNotAllowed      Code = "value_not_allowed"      // a value outside of a closed list
	CodeExpressionFailed     Code = "expression_failed"      // an expression of the mapping without a result for this record
	CodeForeignKeyEmpty      Code = "foreign_key_empty"      // an empty text in a mandatory foreign key
	CodeForeignKeyUnresolved Code = "foreign_key_unresolved" // a foreign key that its set does not have
)

// Answers of a remote service.
const (
	CodeHTTPBadRequest      Code = "http_bad_request"       // 400
	CodeHTTPUnauthorized    Code = "http_unauthorized"      // 401
	CodeHTTPForbidden       Code = "http_forbidden"         // 403
	CodeHTTPNotFound        Code = "http_not_found"         // 404, 410
	CodeHTTPClientError     Code = "http_client_error"      // any other 4xx
	CodeHTTPTooManyRequests Code = "http_too_many_requests" // 429
	CodeHTTPRedirect        Code = "http_redirect"          // 3xx that was not followed
	CodeHTTPServerError     Code = "http_server_error"      // 500 and any other 5xx
	CodeHTTPBadGateway      Code = "http_bad_gateway"       // 502
	CodeHTTPUnavailable     Code = "http_unavailable"       // 503
	CodeHTTPGatewayTimeout  Code = "http_gateway_timeout"   // 504
	CodeBadResponse         Code = "bad_response"           // a successful answer that is not the expected one
)

// Failures on the way to a dependency, and in it.
const (
	CodeTimeout           Code = "timeout"
	CodeConnectionRefused Code = "connection_refused"
	CodeConnectionReset   Code = "connection_reset" // also closed in the middle of an answer
	CodeDNS               Code = "dns"
	CodeTLS               Code = "tls" // an untrusted certificate, or a server without TLS
	CodeNetwork           Code = "network"
	CodeAddressRefused    Code = "address_refused" // an address that the configuration does not allow

	CodeDBConflict    Code = "db_conflict" // deadlock or serialization failure
	CodeDBUnavailable Code = "db_unavailable"
	CodeDBAccess      Code = "db_access"     // credentials, roles, privileges
	CodeDBSchema      Code = "db_schema"     // no such column, another type
	CodeDBData        Code = "db_data"       // a value that does not fit its column
	CodeDBConstraint  Code = "db_constraint" // a rule of the table that the row breaks
	CodeDBInternal    Code = "db_internal"

	CodeBrokerUnavailable Code = "broker_unavailable"
	CodeBrokerAccess      Code = "broker_access"
	CodeBrokerRejected    Code = "broker_rejected" // a request that Kafka will never accept

	CodeRegistryUnavailable Code = "registry_unavailable" // the schema registry gave no usable answer
	CodeSchemaMismatch      Code = "schema_mismatch"      // the registry refuses the output schema
)

// Rules about data and batches.
const (
	CodeGovernanceDenied Code = "governance_denied" // a CARE or sovereignty rule
	CodeBatchQuarantined Code = "batch_quarantined" // the record's batch exceeds its tolerance
)

// Failures of the process and its machine.
const (
	CodeDiskFull         Code = "disk_full"
	CodeOutOfMemory      Code = "out_of_memory"
	CodeIOFailed         Code = "io_failed"         // too many open files, a failing device
	CodePermissionDenied Code = "permission_denied" // of a file
	CodeCanceled         Code = "canceled"
	CodePanic            Code = "panic"
	CodeUnknown          Code = "unknown"
)

// Codes lists every code, in the order of Taxonomy.
func Codes() []Code {
	table := Taxonomy()
	codes := make([]Code, len(table))
	for i, e := range table {
		codes[i] = e.Code
	}
	return codes
}

// Coded is an error that knows its own code and stage. Of finds it with errors.As. A code outside of Codes counts as
// CodeUnknown, so that no foreign word becomes a metric label.
type Coded interface {
	error
	FailureCode() Code
	FailureStage() Stage
}

func isStage(s Stage) bool { return slices.Contains(Stages(), s) }
