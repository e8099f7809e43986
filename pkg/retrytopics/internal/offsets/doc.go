// Package offsets follows which offsets of a partition are finished, and writes it into the commit: the position, and what is
// finished beyond it in the commit's metadata. It knows no records, no client and no clock. Its values have no locks of their own;
// whoever owns one guards it.
package offsets
