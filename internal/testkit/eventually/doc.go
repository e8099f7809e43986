// Package eventually waits for a condition with an upper bound, and says what it
// waited for when the bound is reached.
//
// It is for states that can only be asked for (a metrics page, a group's
// commits). Where something can be listened to (a topic, a process's output),
// listen to it instead: see topiclog.Tail and proc.Process.
package eventually
