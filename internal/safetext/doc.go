// Package safetext prints text of records, services and persons on a terminal, so that it cannot move the cursor, colour the screen or
// change the direction of writing, and fits a line. It is for eyes: what a program reads is encoded, not cleaned.
package safetext
