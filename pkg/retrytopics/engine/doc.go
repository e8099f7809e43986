// Package engine runs a handler over a Kafka topic, as package retrytopics describes it.
//
//	e, err := engine.New(retrytopics.Config{…})
//	err = e.CreateTopics(ctx) // once, before the first run
//	err = e.Run(ctx)          // until ctx ends; RunUntilEnd stops at the end of the topic
//
// An Engine is one member of its consumer group. It runs one session after another: a session ends when its client cannot continue, for example when the broker expelled it, and the next one begins with what is committed. Run returns
// only if a person must act, and the errors of this package distinguish the most frequent reasons.
//
// Pause pauses all records until Resume. Stats, Blocked and Ready say how the engine is doing. PlanAdoption and Adopt
// make the engine's memory belong to topics that were deleted and re-created.
//
// The package decides nothing about a record: retrytopics/internal/attempt does. It does not poll and does not commit:
// retrytopics/internal/session does.
package engine
