package verify

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestText_saysThatThereWasNothingToProve(t *testing.T) {
	t.Parallel()
	expect.Equal(t, (&Report{Verdict: Proven}).Line(), "PROVEN, but of nothing: the source holds no record")
}

// The table has the columns that say something, so that it fits a terminal of 80 columns in the usual case.
func TestText_leavesOutWhatIsZero(t *testing.T) {
	t.Parallel()
	r := Report{Verdict: Proven, All: Counts{Records: 5, Delivered: 3, DeadLettered: 2}}
	r.Partitions = []Counts{{Partition: 0, Records: 5, Delivered: 3, DeadLettered: 2, To: 9, Committed: 9}, {Partition: 1, Committed: -1}}
	var out strings.Builder
	must.Do(t, r.Text(&out))
	for _, want := range []string{
		"PARTITION  FROM  TO  COMMITTED  RECORDS  DELIVERED  DEAD\n",
		"0          0     9   9          5        3          2\n",
		"1          0     0   nothing    0        0          0\n",
	} {
		expect.That(t, strings.Contains(out.String(), want), "no line %q in\n%s", want, &out)
	}
}
