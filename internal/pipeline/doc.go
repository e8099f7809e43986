// Package pipeline processes one record: decode → gate → map → enrich → validate → encode. It is the handler that the
// consumer passes to the engine. [Filter] runs it on lines of text. It does not depend on attempts, tiers or offsets,
// and it does not write anywhere: the engine commits its outputs.
package pipeline
