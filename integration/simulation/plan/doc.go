// Package plan describes a simulated world: its cluster, its engines, its load and its faults. A seed draws a plan. A
// plan can be printed, parsed, and reduced as long as it still fails.
//
// The package runs no world and contains no kinds of faults: the caller passes them.
package plan
