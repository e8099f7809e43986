// Command index measures how fast dead letters are written to the SQL index, and how fast list, groups, stats and the
// console's map are answered from it.
//
// It creates topics with dead letters and states on a real broker, indexes them, measures the questions, and deletes the
// topics. The output is one JSON object; README.md has the figures of a run.
package main
