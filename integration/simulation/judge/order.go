package judge

import (
	"github.com/switchback-geo/switchback/pkg/retrytopics"
	"github.com/switchback-geo/switchback/pkg/retrytopics/policy"
)

// order replays the committed steps of each key and compares them with the guarantees of the mode.
func (h *history) order() {
	keys := map[string]*keyHistory{}
	for _, s := range h.steps {
		if s.Key == nil || !s.Finished() {
			continue
		}
		k := keys[*s.Key]
		if k == nil {
			k = &keyHistory{history: h}
			keys[*s.Key] = k
		}
		k.add(s)
	}
}

// keyHistory is the past of one key.
type keyHistory struct {
	*history
	effects
	memory int   // of the previous step
	first  *step // the latest event of the source that finished its first life
	held   *step // the dead letter that blocks the key
}

func (k *keyHistory) add(s *step) {
	if s.memory != k.memory {
		k.memory = s.memory
		k.forget()
	}
	v, lifted := k.version(s, &k.effects)
	k.dedupe(s)
	switch k.Plan.Engine.Order {
	case retrytopics.OrderStrict:
		k.strict(s, v, lifted)
	case retrytopics.OrderLatestWins:
		k.latest(s, v, lifted)
	default:
	}
	if s.Decision == "delivered" || s.Decision == "duplicate" && k.Plan.Engine.Order != retrytopics.OrderNone && !v.less(k.newest) {
		k.note(s, v)
	}
	k.noteLate(s, v)
}

// forget applies the adoption of a re-created source, which forgets the last effective events.
func (k *keyHistory) forget() { k.last = nil }

// dedupe checks that a duplicate has the content of the last effective event, and that a delivered event has a
// different one. The window is longer than any world, or there is none.
func (k *keyHistory) dedupe(s *step) {
	again := k.last != nil && same(k.last, s)
	switch {
	case s.Decision == "duplicate" && !again:
		k.report(Conservation, s.Source, "it is closed as a duplicate, but %s took effect last for its key", name(k.last))
	case s.Decision == "delivered" && again && k.Plan.Engine.Window > 0:
		k.report(ExactlyOnce, s.Source, "it took effect with the same content as %s, which took effect last for its key", name(k.last))
	}
}

// latest checks that an older event never takes effect after a newer one, and that an event is closed as superseded only
// if there is a newer one.
func (k *keyHistory) latest(s *step, v version, lifted bool) {
	switch older := k.outdates(v); {
	case s.Decision == "delivered" && older && !lifted:
		k.report(Order, s.Source, "it took effect after %s, which is newer: %v after %v", name(k.last), v, k.newest)
	case s.Decision == "superseded" && !older:
		k.report(Order, s.Source, "it is closed as superseded, but nothing newer had taken effect: the newest is %v, it is %v", k.newest, v)
	case (s.Decision == "delivered") && lifted != (s.Reason == string(policy.ReasonForced)):
		k.report(Order, s.Source, "it took effect over newer data (%t), and the reason is %s", lifted, s.Reason)
	}
}

// strict checks that the events of a key finish in the order of the source. A replay comes late and is checked by its
// version.
func (k *keyHistory) strict(s *step, v version, lifted bool) {
	if s.life > 0 {
		k.strictReplay(s, v, lifted)
		return
	}
	if k.first != nil && s.in.record.Offset < k.first.in.record.Offset {
		k.report(Order, s.Source, "it was finished after %s, which is later in the source", name(k.first))
	}
	k.first = s
	if k.held != nil {
		k.report(Order, s.Source, "it was finished (%s) while the dead letter of %s blocks its key", s.Decision, name(k.held))
	}
	k.holds(s)
}

func (k *keyHistory) strictReplay(s *step, v version, lifted bool) {
	// In strict order versions may decrease if those of the source do: only the last effect is certain to be
	// remembered.
	if s.Decision == "delivered" && !lifted && k.outdates(v) && !k.Plan.Engine.Versioned {
		k.report(Order, s.Source, "its replay took effect after %s, which is newer", name(k.last))
	}
	if s.Decision == "superseded" && !k.outdates(v) {
		k.report(Order, s.Source, "its replay is closed as superseded, but nothing newer had taken effect: the newest is %v, it is %v", k.newest, v)
	}
	if k.held != nil && k.held.in == s.in {
		k.held = nil
	}
	k.holds(s)
}

// holds records that a dead letter blocks its key.
func (k *keyHistory) holds(s *step) {
	if s.Decision == "dead_lettered" && k.Plan.Engine.OnDeadLetter == retrytopics.OnDeadLetterHoldKey {
		k.held = s
	}
}
