// Package story formats what happened in a world, and the journeys of the records of a failure.
package story
