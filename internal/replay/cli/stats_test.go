package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/switchback-geo/switchback/internal/browse"
)

func TestStats_S4_7_check_ends_with_6(t *testing.T) {
	d := newDesk(t, false)
	d.fill()
	keep := []string{"stats", "-c", "pipeline.yaml", "--check"}
	_, err := kadm.NewClient(d.writer).AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: new("-1")}}, "features.dlq")
	if err != nil {
		t.Fatal(err)
	}
	d.want(ExitDone, keep...)
	for i := range browse.ManyPerDay {
		d.put(letter(int32(i%2), fmt.Sprint("more-", i), "{}", "ring 1 crosses itself"))
	}
	d.want(ExitHeld, keep...)
	if says := "letters of pipeline features died today and are pending; more than 100 a day are too many"; !strings.Contains(d.err.String(), says) || !strings.Contains(d.out.String(), says) {
		t.Errorf("stdout %s\nstderr %s", &d.out, &d.err)
	}
	d.want(ExitDone, "stats", "-c", "pipeline.yaml", "-o", "table")
	if !strings.Contains(d.out.String(), "warning") {
		t.Errorf("stdout %s", &d.out)
	}
}
