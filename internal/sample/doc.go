// Package sample analyses features and writes the pipeline file that maps them: fields with their types, identity,
// reference system, geometry types. It does not guess: what the features do not show, it leaves to the user, in a
// comment.
package sample
