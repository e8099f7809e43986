// Package docs contains the documentation and the test that keeps it correct: every fenced block of the README and of
// the pages here has a mark that states how it is checked (README.md, "How these pages are kept true"), and a block
// without one fails the test. The package has no code for others.
package docs
