// Package target describes the topics that the dead letters of a DLQ without a pipeline go to: whether they exist,
// what they accept and keep, and which keys of a compacted topic have newer values.
//
// It only reads from the cluster. It knows no dead letters; internal/replay decides about each.
package target
