// Package screen draws text in place on a terminal: it finds out how large that is, and fits the text into it. What the text says is its
// owner's business.
package screen
