package replay

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

func TestStanding_C4_forgets_what_no_longer_holds(t *testing.T) {
	s := newStanding(3)
	set := func(id string, status deadletters.Status) {
		s.set(deadletters.State{ID: id, Status: status, ContentHash: "sha256:00"})
	}
	set("a", deadletters.Replaying)
	set("b", deadletters.Duplicate)
	if id, ok := s.holder("sha256:00"); !ok || id != "a" {
		t.Errorf("holder %q %v, want a", id, ok)
	}
	set("a", deadletters.Pending)
	if id, ok := s.holder("sha256:00"); ok {
		t.Errorf("a failed again, yet %q holds the content", id)
	}
	set("b", deadletters.Reprocessed)
	set("a", deadletters.Discarded)
	if id, ok := s.holder("sha256:00"); !ok || id != "b" {
		t.Errorf("holder %q %v, want b", id, ok)
	}
	s.add(&kgo.Record{Key: []byte("b")})
	if id, ok := s.holder("sha256:00"); ok {
		t.Errorf("b was pruned, yet %q holds the content", id)
	}
	long := strings.Repeat("long", 100)
	set(long, deadletters.Replaying)
	if id, ok := s.holder("sha256:00"); !ok || id != long {
		t.Errorf("holder %q %v, want a long id", id, ok)
	}
	set(long, deadletters.Pending)
	if id, ok := s.holder("sha256:00"); ok {
		t.Errorf("a letter with a long id failed again, yet %q holds the content", id)
	}
}
