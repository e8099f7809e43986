// Package sample looks at features and writes the pipeline file that maps them: fields with their types, identity, reference system,
// geometry types. It guesses nothing that it cannot see: what it does not know it leaves to a person, in a comment.
package sample
