// Package fleet says which mapping the running instances of a pipeline have. Each instance announces the fingerprint of its own
// as the user data of its membership in the consumer group, so it is known exactly as long as the instance is a member: nothing
// is left behind by one that was killed, or replaced by an earlier version. See docs/decisions/0079.
//
// The package reads memberships and compares fingerprints. Computing one is the business of internal/pipeline.
package fleet
