package classify

// Class is the answer that a failure asks for (S4-2).
type Class string

const (
	// RetryNow asks for another try at once: a deadlock is gone as soon as one side gave way.
	RetryNow Class = "retry_now"
	// RetryBackoff asks for another try after the policy's delay.
	RetryBackoff Class = "retry_backoff"
	// RetryAfter asks for another try after the delay that the other side gave, or the policy's when it gave none.
	RetryAfter Class = "retry_after"
	// Permanent will not pass by itself, and it is not this record's fault. Every unknown error is Permanent.
	Permanent Class = "permanent"
	// Row means that this record is bad, and only this one.
	Row Class = "row"
)

// Classes lists every class.
func Classes() []Class { return []Class{RetryNow, RetryBackoff, RetryAfter, Permanent, Row} }

// transient tells whether the class asks for another try.
func (c Class) transient() bool { return c == RetryNow || c == RetryBackoff || c == RetryAfter }

// level is how far a failure of the class reaches.
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
	// LevelRow reaches one record: it goes to the DLQ and the flow goes on.
	LevelRow Level = "row"
	// LevelTransient reaches whatever needs the dependency, for a while.
	LevelTransient Level = "transient"
	// LevelPermanent reaches every record that takes the same way, until somebody fixes the cause.
	LevelPermanent Level = "permanent"
	// LevelBatch reaches a whole batch that breaks a tolerance. Counting decides, never a single record.
	LevelBatch Level = "batch"
	// LevelPipeline means that nothing can go on: the disk is full, or counting says so.
	LevelPipeline Level = "pipeline"
)

// Levels lists every level, the narrowest first.
func Levels() []Level {
	return []Level{LevelRow, LevelTransient, LevelPermanent, LevelBatch, LevelPipeline}
}
