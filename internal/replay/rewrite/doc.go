// Package rewrite says what becomes of the value of a dead letter before it goes back: by assignments, a JSON Patch, a Merge Patch,
// expressions of the mapping's language, or any program of the operator. What comes out can be held against a JSON Schema.
//
// A program gets one value and gives one value. It has no network where the system allows that, none of the process's environment but
// what finds programs and files, a time limit, and bounds on what it prints.
//
// The package knows nothing of topics and states, and changes nothing: it makes bytes of bytes.
package rewrite
