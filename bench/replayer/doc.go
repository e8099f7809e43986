// Command replayer measures a replay of many dead letters on one real broker. It compares the throughput with a bare
// transactional producer of the same client library in the same run, and measures the memory of the replayer's process.
// The replayer is the real command in its own process, and the reinjected records are read and counted. The command only
// reports figures: README.md has targets and results. Measuring memory needs Linux or another Unix.
package main
