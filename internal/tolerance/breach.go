package tolerance

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Code says which tolerance is broken. It is a closed list (see [Codes]).
type Code string

// The codes.
const (
	NullRate       Code = "null_rate"        // a field has no value too often
	TransientRate  Code = "transient_rate"   // too many attempts fail transiently
	DeadLetterRate Code = "dead_letter_rate" // too many records die
)

// Codes lists every code.
func Codes() []Code { return []Code{NullRate, TransientRate, DeadLetterRate} }

// key is the key of the pipeline file that says what is tolerated.
func (c Code) key() string {
	return map[Code]string{
		NullRate: "max_null_rate", TransientRate: "max_transient_rate", DeadLetterRate: "max_dead_letter_rate",
	}[c]
}

// Breach is one broken tolerance.
type Breach struct {
	Code  Code
	Batch string        // id of the batch that breaks it; "" when the window does
	Field string        // of a null rate
	Bad   int64         // how many
	Of    int64         // of how many
	Limit float64       // share that is tolerated
	Over  time.Duration // length of the window; 0 for a batch
}

// Share is the rate, 0 to 1.
func (b Breach) Share() float64 { return share(b.Bad, b.Of) }

// String says what was counted, what is tolerated, and where that is written.
func (b Breach) String() string {
	what := map[Code]string{
		NullRate: "field " + b.Field + " has no value in", TransientRate: "failed transiently:", DeadLetterRate: "dead letters:",
	}[b.Code]
	unit := "records"
	if b.Code == TransientRate {
		unit = "attempts"
	}
	where := "of the last " + b.Over.String()
	if b.Batch != "" {
		where = "of batch " + b.Batch
	}
	return fmt.Sprintf("%s %d of %d %s %s, that is %s; tolerated are %s (pipeline.tolerance.%s)",
		what, b.Bad, b.Of, unit, where, percent(b.Share()), percent(b.Limit), b.Code.key())
}

// percent has so many digits that a rate just above its limit is seen to be.
func percent(share float64) string {
	return strconv.FormatFloat(math.Round(share*1e6)/1e4, 'f', -1, 64) + " %"
}

func share(bad, of int64) float64 {
	if of == 0 {
		return 0
	}
	return float64(bad) / float64(of)
}

// beyond is the decision: whether bad of so many is more than is tolerated. Of few records, one says nothing.
func beyond(bad, of int64, limit float64, least int) bool {
	return of >= int64(least) && share(bad, of) > limit
}
