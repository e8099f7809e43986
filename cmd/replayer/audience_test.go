package main

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/cli"
	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

// A dry run says who sees the records again, and a replay waits for the group that is watched.
func TestAudience_S4_8_C4(t *testing.T) {
	d, at := payments(t, false)
	d.put(d.died("payments", 0, 0, "k", `{"amount":1}`))
	commit := func(group string, offset int64) {
		t.Helper()
		offsets := kadm.Offsets{}
		for p := range int32(3) {
			offsets.AddOffset("payments", p, offset, -1)
		}
		must.Do(t, kadm.NewClient(d.writer).CommitAllOffsets(t.Context(), group, offsets))
	}
	for _, want := range []string{"No consumer group has committed an offset of payments", "payments is read by the group billing (lag 0); --watch-group", "warning: payments is read by 2 groups, and each sees the records again: billing (lag 0), fraud (lag 0)"} {
		d.want(cli.ExitRefused, with(at, "replay")...)
		d.says(want)
		if strings.HasPrefix(want, "No") {
			commit("billing", 0)
		} else {
			commit("fraud", 0)
		}
	}
	back := with(at, "replay", "--all", "--origin", "payments", "--execute", "--reason", "x", "--create-topics", "-o", "table", "--grace", "0s")
	d.want(cli.ExitUsage, append(back, "--watch-group", "nobody")...)
	expect.That(t, strings.Contains(d.err.String(), "there is no such consumer group") && len(d.read("payments")) == 0, "%s", &d.err)
	commit("billing", 100) // it is ahead of whatever comes
	d.want(cli.ExitDone, append(back, "--watch-group", "billing", "--wait")...)
	d.prints("consumed       1")
}
