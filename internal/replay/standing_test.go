package replay

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/deadletters"
	"github.com/switchback-geo/switchback/pkg/idempotency"
	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

func TestStanding_C4_forgets_what_no_longer_holds(t *testing.T) {
	t.Parallel()
	s := newStanding(3, "")
	state := func(id string, status deadletters.Status) deadletters.State {
		return deadletters.State{
			ID: id, Status: status, ContentHash: "sha256:00", KeyHash: idempotency.HashKey([]byte("k")),
			Source: header.Position{Topic: "features", Partition: 2, Offset: 40},
		}
	}
	set := func(id string, status deadletters.Status) { s.set(state(id, status)) }
	of := state("", "")
	same, _ := contentOfState(&of)
	holds := func(when, want string) {
		t.Helper()
		if id, ok := s.holder(same, 40); ok != (want != "") || ok && id != want {
			t.Errorf("%s: holder %q %v, want %q", when, id, ok, want)
		}
	}
	set("a", deadletters.Replaying)
	set("b", deadletters.Duplicate)
	holds("put back", "a")
	set("a", deadletters.Pending)
	holds("failed again", "")
	set("b", deadletters.Reprocessed)
	set("a", deadletters.Discarded)
	holds("another one", "b")
	s.add(&deadletters.StateRecord{ID: "b", Removed: true})
	holds("pruned", "")
	long := strings.Repeat("long", 100)
	set(long, deadletters.Replaying)
	holds("a long id", long)
	set(long, deadletters.Pending)
	holds("a long id failed again", "")
}

// Of letters of one content, the one that was first read last holds it, for those that were read before.
func TestStanding_C4_a_letter_stands_for_what_came_before_it(t *testing.T) {
	t.Parallel()
	full := deadletters.State{
		ID: "at-40", Status: deadletters.Reprocessed, ContentHash: "sha256:00", KeyHash: idempotency.HashKey([]byte("k")),
		Source: header.Position{Topic: "features", Partition: 2, Offset: 40},
	}
	later := full
	later.ID, later.Source.Offset = "at-50", 50
	same, _ := contentOfState(&full)
	s := newStanding(3, "")
	for _, state := range []deadletters.State{full, later, full} {
		s.set(state)
	}
	for offset, want := range map[int64]string{39: "at-50", 40: "at-50", 50: "at-50", 51: ""} {
		if id, ok := s.holder(same, offset); ok != (want != "") || ok && id != want {
			t.Errorf("first read at %d: holder %q %v, want %q", offset, id, ok, want)
		}
	}
	for name, change := range map[string]func(*deadletters.State){
		"another content":   func(s *deadletters.State) { s.ContentHash = "sha256:01" },
		"another key":       func(s *deadletters.State) { s.KeyHash = idempotency.HashKey([]byte("other")) },
		"another partition": func(s *deadletters.State) { s.Source.Partition = 3 },
	} {
		other := full
		change(&other)
		key, ok := contentOfState(&other)
		if _, held := s.holder(key, 1); !ok || held {
			t.Errorf("%s: held", name)
		}
	}
	for name, change := range map[string]func(*deadletters.State){
		"no content": func(s *deadletters.State) { s.ContentHash = "" },
		"no key":     func(s *deadletters.State) { s.KeyHash = idempotency.KeyHash{} },
		"no place":   func(s *deadletters.State) { s.Source = header.Position{} },
	} {
		other := full
		change(&other)
		if _, ok := contentOfState(&other); ok {
			t.Errorf("%s: compared with others", name)
		}
	}
}
