// Package eventually waits for a condition with an upper bound, and reports the condition when the bound is reached.
//
// It is for states that can only be polled (a metrics page, a group's commits). If there is a source of events (a
// topic, a process's output), use topiclog.Tail or proc.Process instead.
package eventually
