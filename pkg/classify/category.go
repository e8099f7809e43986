package classify

import "slices"

// Category is the kind of cause behind a failure. A retry policy is chosen by it (S3-3), and an alert is grouped by it.
type Category string

// The categories of what passes. A policy may be set for each of them.
const (
	CategoryNetwork   Category = "network"    // no connection, or one that broke: refused, reset, unreachable, no such name
	CategoryTimeout   Category = "timeout"    // no answer in time
	CategoryServer    Category = "server"     // a service that answered that it cannot now: 5xx, a page that is no answer
	CategoryRateLimit Category = "rate_limit" // a service that asked for patience: 429
	CategoryRegistry  Category = "registry"   // the schema registry
	CategoryDatabase  Category = "database"   // a database that is starting, stopping, full of sessions or gone
	CategoryConflict  Category = "conflict"   // deadlock or serialization failure: the other side has gone on
	CategoryBroker    Category = "broker"     // Kafka itself: no leader, not enough replicas, a coordinator that moves
	CategoryMemory    Category = "memory"     // too little memory: tried once more, alone
	CategoryIO        Category = "io"         // the border to the operating system: too many open files, a failing read
	CategoryOther     Category = "other"      // whatever else was said to pass, by a rule or by the error itself
)

// The categories of what does not pass. Waiting fixes none of them, so none may have a retry policy (S3-6).
const (
	CategoryValidation  Category = "validation"  // the record is bad
	CategorySchema      Category = "schema"      // the structure on one side is not that of the other
	CategoryGovernance  Category = "governance"  // a rule about who may use the data (CARE, sovereignty)
	CategoryAccess      Category = "access"      // credentials, permissions, certificates
	CategoryRequest     Category = "request"     // the request is wrong, or what it asks for does not exist
	CategoryEnvironment Category = "environment" // the machine: disk full
	CategoryDefect      Category = "defect"      // a fault of a program: a panic, an error that nobody knows
)

// Categories lists every category: those that pass first.
func Categories() []Category {
	return append(RetriedCategories(), CategoryValidation, CategorySchema, CategoryGovernance, CategoryAccess, CategoryRequest,
		CategoryEnvironment, CategoryDefect)
}

// RetriedCategories lists the categories of what passes.
func RetriedCategories() []Category {
	return []Category{
		CategoryNetwork, CategoryTimeout, CategoryServer, CategoryRateLimit, CategoryRegistry, CategoryDatabase,
		CategoryConflict, CategoryBroker, CategoryMemory, CategoryIO, CategoryOther,
	}
}

// Retried tells whether failures of the category pass.
func (c Category) Retried() bool { return slices.Contains(RetriedCategories(), c) }

// Blocks tells whether nothing should go on once the attempts of a failure of the category are used up, in place of a dead
// letter (S3-3, "I/O boundary error: once, then block"): the machine or a disk is at fault, and every record would meet it.
func (c Category) Blocks() bool { return c == CategoryIO }
