// Package pipelinefile says which pipeline file a command line means: by -c, by an argument, or by SWITCHBACK_CONFIG. Both programs
// ask it, so that they read the same file for the same words. It reads no file, and where two places name two files, it refuses to
// choose (docs/decisions/0084).
package pipelinefile
