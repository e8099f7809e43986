// Package backlog says how far the group of a pipeline has read its source and its retry topics, those of former tier lists included.
// It reads offsets only. What the records are, and what became of them, it does not know: that is internal/verify's business.
package backlog
