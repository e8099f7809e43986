// Package cmdhelp arranges what a program's --help prints: commands in groups, and an example of each. It knows no command by
// itself: the programs say what belongs where.
package cmdhelp
