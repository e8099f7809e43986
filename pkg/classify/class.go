package classify

// Class is the reaction that a failure asks for (S4-2).
type Class string

const (
	// RetryNow asks for another attempt at once: a deadlock ends as soon as one transaction is rolled back.
	RetryNow Class = "retry_now"
	// RetryBackoff asks for another attempt after the policy's delay.
	RetryBackoff Class = "retry_backoff"
	// RetryAfter asks for another attempt after the delay that the other side named, or the policy's if it named none.
	RetryAfter Class = "retry_after"
	// Permanent failures do not resolve on their own, and this record is not their cause. Every unknown error is
	// Permanent.
	Permanent Class = "permanent"
	// Row means that only this record is bad.
	Row Class = "row"
)

// Classes lists every class.
func Classes() []Class { return []Class{RetryNow, RetryBackoff, RetryAfter, Permanent, Row} }

// transient reports whether the class asks for another attempt.
func (c Class) transient() bool { return c == RetryNow || c == RetryBackoff || c == RetryAfter }

// level returns how far a failure of the class reaches.
func (c Class) level() Level {
	switch {
	case c.transient():
		return LevelTransient
	case c == Row:
		return LevelRow
	default:
		return LevelPermanent
	}
}

// Level is how far a failure reaches (S4-1).
type Level string

const (
	// LevelRow reaches one record: it goes to the DLQ, and processing continues.
	LevelRow Level = "row"
	// LevelTransient concerns everything that needs the dependency, for a while.
	LevelTransient Level = "transient"
	// LevelPermanent concerns every record on the same path, until a person fixes the cause.
	LevelPermanent Level = "permanent"
	// LevelBatch concerns a whole batch that exceeds a tolerance. Rates decide, never a single record.
	LevelBatch Level = "batch"
	// LevelPipeline stops everything: the disk is full, or a rate exceeds its tolerance.
	LevelPipeline Level = "pipeline"
)

// Levels lists every level, the narrowest first.
func Levels() []Level {
	return []Level{LevelRow, LevelTransient, LevelPermanent, LevelBatch, LevelPipeline}
}
