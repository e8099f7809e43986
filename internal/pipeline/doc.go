// Package pipeline does the work on one record: decode → gate → map → enrich → validate → encode. It is the handler that
// the consumer gives to the engine. [Filter] runs it over lines of text. It knows nothing of attempts, tiers or offsets,
// and it writes nowhere: the engine commits its outputs.
package pipeline
