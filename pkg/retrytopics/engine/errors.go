package engine

import (
	"errors"

	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/kafka"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/partition"
	"github.com/switchback-geo/switchback/pkg/retrytopics/internal/topics"
)

// ErrTopics is wrapped by the error about topics that are missing or do not fit together.
var ErrTopics = topics.ErrUnfit

// ErrLogTruncated is wrapped when a partition ends before its committed offset: the brokers lost records, or the
// topic was re-created under its name. New records then have the offsets of old ones, so continuing would skip them,
// or treat them as older than the events that took effect. Only a person can decide what is right then.
var ErrLogTruncated = topics.ErrTruncated

// ErrGroup is wrapped when the consumer group belongs to another pipeline. Its leader assigns partitions of its own
// source only, so this engine would silently get nothing.
var ErrGroup = kafka.ErrForeignGroup

// ErrMemory is wrapped when the engine's memory does not belong to the current topics and group: a topic was deleted
// and re-created, or the group was renamed. Continuing would treat new events as old, or old ones as new.
// Engine.PlanAdoption lists what must be given up; Engine.Adopt gives it up.
var ErrMemory = partition.ErrMemory

// ErrAlienMemory is wrapped when the state topic or the ledger has a record that the engine cannot have written. No
// later session can read it either.
var ErrAlienMemory = partition.ErrAlienMemory

// ErrRunning is wrapped when an adoption finds running instances of the group. They must be stopped first.
var ErrRunning = kafka.ErrRunning

// ErrFenced is wrapped when another instance repeatedly takes over this one's transactional ID.
var ErrFenced = errors.New("another instance uses the same transactional id")

// errRunning is the error of a second concurrent Run: both would be one member of the group.
var errRunning = errors.New("retrytopics: the engine is running already; create another engine for another instance")
