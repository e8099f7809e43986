// Package screen draws lines in place on a terminal, and finds out how large that is. What the lines say, and how they are cut, is their
// owner's business.
package screen
