package retrytopics

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/switchback-geo/switchback/pkg/retrytopics/statetopic"
)

// recreatedError ends a session after one of its topics was re-created: the client's knowledge of it is no longer true.
// The next session compares the memory with the new topic.
type recreatedError struct {
	topic       string
	before, now statetopic.TopicID
}

func (e *recreatedError) Error() string {
	return fmt.Sprintf("topic %s was deleted and re-created while it was in use: it had id %s, and has %s now", e.topic, e.before, e.now)
}

// grownError ends a session after partitions were added to its source: the client would notice them only after minutes,
// and their tiers may be missing. The next session compares all topics.
type grownError struct {
	topic       string
	before, now int
}

func (e *grownError) Error() string {
	return fmt.Sprintf("topic %s had %d partitions, and has %d now", e.topic, e.before, e.now)
}

// sameTopics ends the session if one of its topics was re-created, or partitions were added to the source. A topic that
// is missing at the moment may come back.
func (s *session) sameTopics(ctx context.Context) error {
	details, err := s.adm.ListTopics(ctx, slices.Collect(maps.Keys(s.layout.ids))...)
	if err != nil {
		return err
	}
	for name, id := range s.layout.ids {
		if d := details[name]; d.Err == nil && id.Differs(statetopic.TopicID(d.ID)) {
			s.end(&recreatedError{name, id, statetopic.TopicID(d.ID)})
			return nil
		}
	}
	if d := details[s.e.cfg.Source]; d.Err == nil && len(d.Partitions) > s.layout.partitions {
		s.end(&grownError{s.e.cfg.Source, s.layout.partitions, len(d.Partitions)})
	}
	return nil
}

// end makes the next turn end the session.
func (s *session) end(err error) {
	s.mu.Lock()
	if s.fatal == nil {
		s.fatal = err
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
