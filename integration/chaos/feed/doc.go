// Package feed produces the load of the chaos suite. The bytes of each source record determine its outcome, so every
// worker treats a record the same way, and the checker knows the expected result.
package feed
