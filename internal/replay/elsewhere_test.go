package replay

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/switchback-geo/switchback/internal/deadletters"
)

// An operator's words are no data: a reason that reads like the replayer's own does not count as --to.
func TestStatus_S4_8_aReasonIsNoDestination(t *testing.T) {
	t.Parallel()
	for reason, to := range map[string]string{
		"sent to the owner by mail": "", "sent to features.quarantine: by hand": "", "": "features.quarantine", "given to the owner": "features.quarantine",
	} {
		st := newStanding(3, "")
		for i, state := range []deadletters.State{
			{Status: deadletters.Replaying, Writer: deadletters.Operator},
			{Status: deadletters.Pending},
			{Status: deadletters.Discarded, Writer: deadletters.Operator, Reason: reason, Destination: to},
		} {
			state.ID, state.ReplayID, state.At = "0-1-aa", "r", start.Add(time.Duration(i)*time.Second)
			st.add(&deadletters.StateRecord{ID: state.ID, State: state})
		}
		r := st.report("r", nil, start)
		if want := to != ""; (r.Elsewhere == 1) != want || (r.FailedAgain == 1) == want {
			t.Errorf("%q to %q: elsewhere %d, failed again %d", reason, to, r.Elsewhere, r.FailedAgain)
		}
	}
}

// No topic of the pipeline takes dead letters as they are: its readers would take them for their own records.
func TestReplay_C4_toRefusesThePipelinesOwnTopics(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.dieMany(1)
	s := w.service()
	for _, to := range []string{
		"features", "features.out", "features.dlq", "features.state", "features.ledger", "features.audit", "features.dlq-status", "features.control",
		"features.governance", "features.retry-2s", "features.retry-8s", "features.retry-60s", "features.retry-1h", "features.retry-1500ms",
	} {
		if _, err := s.Plan(w.ctx(), deadletters.Filter{}, PlanOptions{ID: "r1", To: to}); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "belongs to this pipeline (") {
			t.Errorf("%s: %v", to, err)
		}
	}
}
