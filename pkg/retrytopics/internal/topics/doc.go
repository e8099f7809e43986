// Package topics knows the topics of one pipeline: it names them (Set), reads what the cluster tells about them and
// refuses a set that cannot work (Cluster.Inspect), creates missing ones, and finds out what happened to them since. Its
// functions get what they need as arguments. It knows no session, no assigned partition and no record's fate, and it
// writes no records.
package topics
