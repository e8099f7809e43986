package classify

import "slices"

// Entry is one row of the taxonomy (S4-3): a code and its consequences.
type Entry struct {
	Code     Code
	Class    Class    // the reaction; of an HTTP status only while the status is in its list (see Options)
	Level    Level    // how far it reaches
	Category Category // selects the retry policy
	Alert    Alert    // how urgent a dead letter with this code is
	When     string   // the condition in words; numbers (HTTP, SQLSTATE, Kafka) are in Condition
}

// Taxonomy returns the whole table, every code once, in the order of Codes.
func Taxonomy() []Entry {
	return slices.Concat(recordEntries(), featureEntries(), remoteEntries(), wayEntries(), storeEntries(), ruleEntries(), processEntries())
}

// Faults of a record's bytes are row failures: no attempt fixes them. One of them may be a question of time.
func recordEntries() []Entry {
	return []Entry{
		{CodeNotJSON, Row, LevelRow, CategoryValidation, AlertP3, "the value is not JSON"},
		{CodeTruncatedJSON, Row, LevelRow, CategoryValidation, AlertP3, "the JSON ends too early"},
		{CodeInvalidUTF8, Row, LevelRow, CategoryValidation, AlertP3, "the text is not UTF-8"},
		{CodeDuplicateKey, Row, LevelRow, CategoryValidation, AlertP3, "a JSON object has a key twice"},
		{CodeTrailingData, Row, LevelRow, CategoryValidation, AlertP3, "something follows the JSON value"},
		{CodeTooDeep, Row, LevelRow, CategoryValidation, AlertP3, "nested deeper than the limit"},
		{CodeWrongType, Row, LevelRow, CategoryValidation, AlertP3, "a member of another type than it must have"},
		{CodeNotAFeature, Row, LevelRow, CategoryValidation, AlertP3, "the JSON is not a GeoJSON Feature"},
		{CodeEmptyValue, Row, LevelRow, CategoryValidation, AlertP3, "the value has no bytes, and is not a tombstone"},
		{CodeNullKey, Row, LevelRow, CategoryValidation, AlertP3, "the record has no key, and must have one"},
		{CodeRecordTooLarge, Row, LevelRow, CategoryValidation, AlertP3, "the record is larger than the limit"},
		{CodeBatchUnreadable, Row, LevelRow, CategoryValidation, AlertP2, "the batch that holds the record cannot be decompressed"},
		{CodeLimitExceeded, Row, LevelRow, CategoryValidation, AlertP3, "more positions, members or bytes than the limit"},
		{CodeMalformedHeader, Row, LevelRow, CategoryValidation, AlertP2, "a control header that cannot be read"},
		{CodeEnvelopeMalformed, Row, LevelRow, CategoryValidation, AlertP3, "an invalid CloudEvents or Debezium envelope, or an unknown content type"},
		{CodeAvroDecode, Row, LevelRow, CategorySchema, AlertP3, "the bytes do not match their Avro schema"},
		// A replica of the registry may not have it yet. A schema that cannot be used, or a fingerprint that the
		// configuration does not list, is marked as a row failure where it is found.
		{CodeSchemaUnknown, RetryBackoff, LevelTransient, CategoryRegistry, AlertP3, "the registry has no schema with this ID yet; a row failure if waiting does not help: an unusable schema, a fingerprint that is not configured"},
		{CodeWKBMalformed, Row, LevelRow, CategoryValidation, AlertP3, "WKB or EWKB that cannot be read"},
		{CodeWKTMalformed, Row, LevelRow, CategoryValidation, AlertP3, "WKT or EWKT that cannot be read"},
		{CodeUnsupportedGeometry, Row, LevelRow, CategoryValidation, AlertP3, "a curve or a solid: not a GeoJSON geometry"},
		{CodeMemberCase, Row, LevelRow, CategoryValidation, AlertP3, "a member of GeoJSON in another case (`TYPE`)"},
		{CodeNullOrdinate, Row, LevelRow, CategoryValidation, AlertP3, "null in place of a number or a position"},
		{CodeNumberRange, Row, LevelRow, CategoryValidation, AlertP3, "a number outside the range of a double"},
		{CodeValueUnavailable, Row, LevelRow, CategoryValidation, AlertP3, "a column that the database did not send; Debezium's placeholder is in its place"},
		{CodeNumberPrecision, Row, LevelRow, CategoryValidation, AlertP3, "a whole number that its type cannot hold"},
	}
}

// Faults of a feature are row failures too.
func featureEntries() []Entry {
	return []Entry{
		{CodeUnknownCRS, Row, LevelRow, CategoryValidation, AlertP3, "no coordinate reference system of this name"},
		{CodeGeometryStructure, Row, LevelRow, CategoryValidation, AlertP3, "rings that are open, too short or missing"},
		{CodeGeometryInvalid, Row, LevelRow, CategoryValidation, AlertP3, "rings that cross, holes outside"},
		{CodeGeometryEmpty, Row, LevelRow, CategoryValidation, AlertP3, "a geometry without a position"},
		{CodeGeometryType, Row, LevelRow, CategoryValidation, AlertP3, "a geometry type that is not allowed"},
		{CodeCoordinateRange, Row, LevelRow, CategoryValidation, AlertP3, "a coordinate outside its system"},
		{CodeMissingRequired, Row, LevelRow, CategoryValidation, AlertP3, "a mandatory value is missing"},
		{CodeCoercionFailed, Row, LevelRow, CategoryValidation, AlertP3, "a value that cannot be converted to its type"},
		{CodeFlattenConflict, Row, LevelRow, CategoryValidation, AlertP3, "two values with the same name after flattening"},
		{CodeOutputTooLarge, Row, LevelRow, CategoryValidation, AlertP3, "an output that the broker does not accept"},
		{CodeCRSConflict, Row, LevelRow, CategoryValidation, AlertP3, "the record and the configuration name different systems"},
		{CodeGeometryNotSimple, Row, LevelRow, CategoryValidation, AlertP3, "a line that crosses itself"},
		{CodeGeometryDimension, Row, LevelRow, CategoryValidation, AlertP3, "heights where none are allowed, or none where they are required"},
		{CodeAntimeridian, Row, LevelRow, CategoryValidation, AlertP3, "across the 180th meridian and not cut"},
		{CodeVersionInFuture, Row, LevelRow, CategoryValidation, AlertP2, "a version (`source.version`) far ahead of the clock"},
		{CodeBBoxMismatch, Row, LevelRow, CategoryValidation, AlertP3, "a bbox that differs from the geometry's"},
		{CodePrecisionDegraded, Row, LevelRow, CategoryValidation, AlertP3, "coordinates coarser than declared"},
		{CodeValueNotAllowed, Row, LevelRow, CategoryValidation, AlertP3, "a value that is not in its closed list"},
		{CodeExpressionFailed, Row, LevelRow, CategoryValidation, AlertP3, "an expression without a result"},
		{CodeForeignKeyEmpty, Row, LevelRow, CategoryValidation, AlertP3, "an empty text in a mandatory foreign key"},
		{CodeForeignKeyUnresolved, Row, LevelRow, CategoryValidation, AlertP3, "a foreign key that is not a key of its set"},
	}
}

// Answers of a remote service. 429 and 503 remain distinct (S2-3): 429 states when to try again, 503 reports an
// outage.
func remoteEntries() []Entry {
	return []Entry{
		{CodeHTTPBadRequest, Permanent, LevelPermanent, CategoryRequest, AlertP3, ""},
		{CodeHTTPUnauthorized, Permanent, LevelPermanent, CategoryAccess, AlertP1, ""},
		{CodeHTTPForbidden, Permanent, LevelPermanent, CategoryAccess, AlertP1, ""},
		{CodeHTTPNotFound, Row, LevelRow, CategoryRequest, AlertP4, "what the record refers to does not exist"},
		{CodeHTTPClientError, Permanent, LevelPermanent, CategoryRequest, AlertP3, ""},
		{CodeHTTPTooManyRequests, RetryAfter, LevelTransient, CategoryRateLimit, AlertP2, ""},
		{CodeHTTPRedirect, Permanent, LevelPermanent, CategoryRequest, AlertP3, "a redirect that was not followed"},
		{CodeHTTPServerError, Permanent, LevelPermanent, CategoryServer, AlertP2, ""},
		{CodeHTTPBadGateway, RetryBackoff, LevelTransient, CategoryServer, AlertP2, ""},
		{CodeHTTPUnavailable, RetryBackoff, LevelTransient, CategoryServer, AlertP2, ""},
		{CodeHTTPGatewayTimeout, RetryBackoff, LevelTransient, CategoryTimeout, AlertP2, ""},
		// Proxies and half-started services answer 200 with a page of their own. This is transient.
		{CodeBadResponse, RetryBackoff, LevelTransient, CategoryServer, AlertP2, "a successful answer without the agreed form"},
	}
}

// Failures on the way to a dependency. A name that is not found is transient: a service that restarts has none for a
// while.
func wayEntries() []Entry {
	return []Entry{
		{CodeTimeout, RetryBackoff, LevelTransient, CategoryTimeout, AlertP2, ""},
		{CodeConnectionRefused, RetryBackoff, LevelTransient, CategoryNetwork, AlertP2, ""},
		{CodeConnectionReset, RetryBackoff, LevelTransient, CategoryNetwork, AlertP2, ""},
		{CodeDNS, RetryBackoff, LevelTransient, CategoryNetwork, AlertP2, ""},
		{CodeTLS, Permanent, LevelPermanent, CategoryAccess, AlertP1, ""},
		{CodeNetwork, RetryBackoff, LevelTransient, CategoryNetwork, AlertP2, ""},
		{CodeAddressRefused, Permanent, LevelPermanent, CategoryAccess, AlertP2, "an address that the configuration does not allow"},
	}
}

// Failures of a database, of Kafka and of the schema registry.
func storeEntries() []Entry {
	return []Entry{
		{CodeDBConflict, RetryNow, LevelTransient, CategoryConflict, AlertP2, "the other transaction won: retried at once, three times in process, then by the policy"},
		{CodeDBUnavailable, RetryBackoff, LevelTransient, CategoryDatabase, AlertP2, ""},
		{CodeDBAccess, Permanent, LevelPermanent, CategoryAccess, AlertP1, ""},
		{CodeDBSchema, Permanent, LevelPermanent, CategorySchema, AlertP1, ""},
		{CodeDBData, Row, LevelRow, CategoryValidation, AlertP3, ""},
		{CodeDBConstraint, Row, LevelRow, CategoryValidation, AlertP3, ""},
		{CodeDBInternal, Permanent, LevelPermanent, CategoryDefect, AlertP1, ""},
		{CodeBrokerUnavailable, RetryBackoff, LevelTransient, CategoryBroker, AlertP2, ""},
		{CodeBrokerAccess, Permanent, LevelPermanent, CategoryAccess, AlertP1, ""},
		{CodeBrokerRejected, Permanent, LevelPermanent, CategoryRequest, AlertP1, ""},
		{CodeRegistryUnavailable, RetryBackoff, LevelTransient, CategoryRegistry, AlertP2, "the schema registry gave no usable answer"},
		{CodeSchemaMismatch, Permanent, LevelPermanent, CategorySchema, AlertP1, "the registry refuses the schema of the outputs"},
	}
}

// Rules about data and batches.
func ruleEntries() []Entry {
	return []Entry{
		{CodeGovernanceDenied, Row, LevelRow, CategoryGovernance, AlertP1, "a CARE or sovereignty rule forbids it: escalated, never retried"},
		{CodeBatchQuarantined, Permanent, LevelBatch, CategoryValidation, AlertP1, "the record's batch exceeds its tolerance"},
	}
}

// Failures of the process and its machine.
func processEntries() []Entry {
	return []Entry{
		{CodeDiskFull, Permanent, LevelPipeline, CategoryEnvironment, AlertP1, ""},
		// Smaller batch first (S4-3): records are processed one by one, so the smallest batch is the record alone, which
		// is retried once from its tier.
		{CodeOutOfMemory, RetryBackoff, LevelTransient, CategoryMemory, AlertP1, ""},
		// Retried once, then everything stops (S3-3, "I/O boundary error"; see Category.Blocks).
		{CodeIOFailed, RetryBackoff, LevelTransient, CategoryIO, AlertP1, ""},
		{CodePermissionDenied, Permanent, LevelPermanent, CategoryAccess, AlertP1, ""},
		{CodeCanceled, RetryBackoff, LevelTransient, CategoryOther, AlertP4, ""},
		// One record's panic must not stop the flow (S4-15).
		{CodePanic, Row, LevelRow, CategoryDefect, AlertP2, ""},
		{CodeUnknown, Permanent, LevelPermanent, CategoryDefect, AlertP1, "an error that no condition matches (S4-2)"},
	}
}
