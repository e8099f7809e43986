// Package status gathers how a pipeline is, from outside of its instances: what was ordered for it, how far its group has
// come, what waits, and what its instances say of the services that they depend on. It only reads.
//
// Each instance announces the fingerprint of its mapping to the group ([Announcement]); [CompareMappings] tells who runs another one.
// The fingerprint itself is computed by internal/pipeline.
//
// Counts are differences of offsets. Where a topic is written in transactions, some offsets hold a marker and no record, so
// they are upper bounds; what is finished is always counted as zero.
package status
