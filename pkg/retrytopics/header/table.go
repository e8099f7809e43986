package header

// entry is one control header: its name, the largest size of its text in bytes (0 if its form bounds it), and a pointer
// to its value.
type entry struct {
	key   string
	limit int
	value any
}

// controlHeaders is the number of control headers.
const controlHeaders = 32

// table lists the control headers in the order in which they are written, each with a pointer into c. Reader, writer and
// limits follow it.
func (c *Control) table() [controlHeaders]entry {
	return [controlHeaders]entry{
		{KeyAttempt, 0, &c.Attempt},
		{KeyMaxAttempts, 0, &c.MaxAttempts},
		{KeyDue, 0, &c.Due},
		{KeyFirstFailedAt, 0, &c.FirstFailedAt},
		{KeyFailedAt, 0, &c.FailedAt},
		{KeyErrorClass, maxWordBytes, &c.ErrorClass},
		{KeyErrorCode, maxWordBytes, &c.ErrorCode},
		{KeyErrorStage, maxWordBytes, &c.ErrorStage},
		{KeyErrorMessage, maxMessageBytes, &c.ErrorMessage},
		{KeyErrorRequest, 0, &c.ErrorRequest},
		{KeyErrorResponse, 0, &c.ErrorResponse},
		{KeySource, 0, &c.Source},
		{KeyGeneration, 0, &c.Generation},
		{KeySourceTimestamp, 0, &c.SourceTimestamp},
		{KeyContentHash, maxTextBytes, &c.ContentHash},
		{KeyFeatureID, maxTextBytes, &c.FeatureID},
		{KeyBBox, maxTextBytes, &c.BBox},
		{KeySequence, 0, &c.Sequence},
		{KeyRunID, maxTextBytes, &c.RunID},
		{KeyPipeline, maxTextBytes, &c.Pipeline},
		{KeyDeadLetterID, maxTextBytes, &c.DeadLetterID},
		{KeyReplayID, maxTextBytes, &c.ReplayID},
		{KeyReplayCount, 0, &c.ReplayCount},
		{KeyForceVersion, 0, &c.ForceVersion},
		{KeyReplaySource, 0, &c.ReplaySource},
		{KeyReplayGeneration, 0, &c.ReplayGeneration},
		{KeyLineage, maxTextBytes, &c.Lineage},
		{KeyCare, maxTextBytes, &c.Care},
		{KeySovereignty, maxTextBytes, &c.Sovereignty},
		{KeyPart, 0, &c.Part},
		{KeyPartVersion, 0, &c.PartVersion},
		{KeyRemaining, 0, &c.Remaining},
	}
}
