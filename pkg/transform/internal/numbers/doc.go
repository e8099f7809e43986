// Package numbers reads and writes the numbers of JSON texts, exactly and quickly: in the shortest form, in a canonical
// form, and as people write them.
package numbers
