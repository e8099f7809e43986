package judge

import (
	"math"

	"github.com/switchback-geo/switchback/internal/testkit/topiclog"
	"github.com/switchback-geo/switchback/pkg/retrytopics"
)

// version orders the events of a key: by number, then by source offset. It is written a second time on purpose.
type version struct{ number, offset int64 }

func (v version) less(w version) bool {
	return v.number < w.number || v.number == w.number && v.offset < w.offset
}

// effects are the effective events of a key so far.
type effects struct {
	any     bool
	newest  version
	deleted int64 // offset after the newest delete
	last    *step // the last effective event
}

// outdates reports whether an event of a version is older than the effective ones.
func (f *effects) outdates(v version) bool {
	return f.any && (v.less(f.newest) || v.offset < f.deleted)
}

// version returns the version of a step's event, given the earlier effective events. lifted means that an operator
// let an older event overwrite newer data.
func (h *history) version(s *step, f *effects) (v version, lifted bool) {
	v.offset = s.in.record.Offset
	deletes := s.in.event.Delete
	switch {
	case deletes && f.any:
		v.number = f.newest.number
	case deletes && h.Plan.Engine.Versioned:
		v.number = math.MinInt64
	case h.Plan.Engine.Versioned:
		v.number = s.in.event.Version
	}
	if s.life > 0 && s.forced() && h.Plan.Engine.Order != retrytopics.OrderNone && f.outdates(v) {
		return version{max(v.number, f.newest.number), s.from.Offset}, true
	}
	return v, false
}

// note records that an event took effect, or had the content that took effect last.
func (f *effects) note(s *step, v version) {
	if !f.any || f.newest.less(v) {
		f.newest = v
	}
	f.any = true
	if s.in.event.Delete {
		f.deleted = max(f.deleted, v.offset+1)
	}
	if s.Decision == "delivered" {
		f.last = s
	}
}

// noteLate records a superseded delete: the events before it are older nevertheless.
func (f *effects) noteLate(s *step, v version) {
	if s.Decision == "superseded" && s.in.event.Delete {
		f.deleted = max(f.deleted, v.offset+1)
	}
}

// same reports whether two events of a key have the same content.
func same(a, b *step) bool {
	if a.in.event.Delete || b.in.event.Delete {
		return a.in.event.Delete == b.in.event.Delete
	}
	return a.in.event.Content == b.in.event.Content
}

func name(s *step) string {
	if s == nil {
		return "nothing"
	}
	return topiclog.Position(s.in.record)
}
