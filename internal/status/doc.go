// Package status gathers the state of a pipeline from outside of its instances: the last order for it, the position of its group, the
// waiting records, and what its instances report about their dependencies. It only reads.
//
// Each instance announces the fingerprint of its mapping to the group ([Announcement]). [CompareMappings] finds instances with another one.
// internal/pipeline computes the fingerprint.
//
// Counts are differences of offsets. In a topic that is written in transactions some offsets are markers, so counts are upper bounds. They
// are zero if everything is finished.
package status
