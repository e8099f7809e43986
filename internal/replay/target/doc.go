// Package target describes the topics that the dead letters of a DLQ without a pipeline go to: whether they exist, what they take and keep,
// and, of compacted ones, which keys have newer values.
//
// It reads the cluster and changes nothing. It knows no dead letters: internal/replay decides what becomes of each.
package target
