// Command index measures how fast dead letters come into the SQL index, and how fast list, groups,
// stats and the console's map answer on it.
//
// It writes letters with states into topics of its own on a real broker, indexes them, asks, and
// removes the topics. What it prints is one JSON object; README.md has figures of a run.
package main
