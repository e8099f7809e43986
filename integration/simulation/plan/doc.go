// Package plan says what a simulated world is made of: its cluster, its engines, its load and its faults. A seed draws a
// plan; a plan can be printed, read back, and made smaller while it still fails.
//
// The package plays nothing and knows no fault by name: who draws a plan hands in the kinds of faults that there are.
package plan
