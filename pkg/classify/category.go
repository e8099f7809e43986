package classify

import "slices"

// Category is the kind of cause of a failure. It selects the retry policy (S3-3) and groups alerts.
type Category string

// The categories of transient failures. Each can have a policy.
const (
	CategoryNetwork   Category = "network"    // no connection, or a broken one: refused, reset, unreachable, no such name
	CategoryTimeout   Category = "timeout"    // no answer in time
	CategoryServer    Category = "server"     // a service that reports that it is unavailable: 5xx, or an HTML page in place of an answer
	CategoryRateLimit Category = "rate_limit" // a service that asks to wait: 429
	CategoryRegistry  Category = "registry"   // the schema registry
	CategoryDatabase  Category = "database"   // a database that is starting, stopping, unreachable or out of sessions
	CategoryConflict  Category = "conflict"   // deadlock or serialization failure: the other transaction won
	CategoryBroker    Category = "broker"     // Kafka itself: no leader, not enough replicas, a coordinator that moves
	CategoryMemory    Category = "memory"     // too little memory: retried once, alone
	CategoryIO        Category = "io"         // the operating system: too many open files, a failing read
	CategoryOther     Category = "other"      // anything else that a rule or the error itself calls transient
)

// The categories of permanent failures. Waiting fixes none of them, so none may have a retry policy (S3-6).
const (
	CategoryValidation  Category = "validation"  // the record is bad
	CategorySchema      Category = "schema"      // the structures of two sides differ
	CategoryGovernance  Category = "governance"  // a rule about who may use the data (CARE, sovereignty)
	CategoryAccess      Category = "access"      // credentials, permissions, certificates
	CategoryRequest     Category = "request"     // the request is wrong, or its target does not exist
	CategoryEnvironment Category = "environment" // the machine: disk full
	CategoryDefect      Category = "defect"      // a bug: a panic, an unknown error
)

// Categories lists every category, those of transient failures first.
func Categories() []Category {
	return append(RetriedCategories(), CategoryValidation, CategorySchema, CategoryGovernance, CategoryAccess, CategoryRequest,
		CategoryEnvironment, CategoryDefect)
}

// RetriedCategories lists the categories of transient failures.
func RetriedCategories() []Category {
	return []Category{
		CategoryNetwork, CategoryTimeout, CategoryServer, CategoryRateLimit, CategoryRegistry, CategoryDatabase,
		CategoryConflict, CategoryBroker, CategoryMemory, CategoryIO, CategoryOther,
	}
}

// Retried reports whether failures of the category are transient.
func (c Category) Retried() bool { return slices.Contains(RetriedCategories(), c) }

// Blocks reports whether everything should stop once the attempts of a failure are used up, instead of making a dead
// letter (S3-3, "I/O boundary error: once, then block"): the machine or a disk is at fault, and every record would fail.
func (c Category) Blocks() bool { return c == CategoryIO }
