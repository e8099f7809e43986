// Package story formats the events of a world, and the journeys of the records of a failure.
package story
