// Package topics manages the topics of one pipeline: it names them (Set), reads their properties from the cluster and
// refuses a set that cannot work (Cluster.Inspect), creates missing ones, and detects later changes to them. Its
// functions get their input as arguments. It has no notion of sessions, assigned partitions or outcomes, and it
// writes no records.
package topics
