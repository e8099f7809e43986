// Command replayer measures a replay of many letters on one real broker: how fast it puts them back against a bare
// transactional producer of the same client library in the same run, and how much memory its process takes. The replayer
// is the real command in a process of its own; what it put back is read and counted. It judges nothing: README.md says
// what to aim at and what came out. It needs Linux or another Unix for the memory.
package main
