// Package rewrite changes the value of a dead letter before it goes back: by assignments, a JSON Patch, a Merge
// Patch, expressions in the mapping's language, or a program of the operator. It can check the result against a JSON
// Schema.
//
// A program reads one value and prints one value. It has a time limit, limits on its output, no network if the system
// supports that, and only the environment variables that locate programs and files.
//
// The package knows nothing of topics and states. It converts bytes to bytes.
package rewrite
