package gates

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/switchback-geo/switchback/internal/config"
)

// Code says which tolerance is broken. It is a closed list (see [Codes]).
type Code string

// The codes.
const (
	NullRate       Code = "null_rate"        // a field has no value too often
	TransientRate  Code = "transient_rate"   // too many records fail transiently at their first attempt
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
	Code     Code
	Batch    string        // id of the batch that breaks it; "" when the window does
	Field    string        // of a null rate
	Bad      int64         // how many
	Of       int64         // of how many, those in flight included
	InFlight int64         // records whose attempt has begun and not ended; they count as good ones
	Limit    float64       // share that is tolerated
	Over     time.Duration // length of the window; 0 for a batch
}

// Share is the rate, 0 to 1.
func (b Breach) Share() float64 { return share(b.Bad, b.Of) }

// String says what was counted, what is tolerated, and where that is written: "120 of 600 records (20 %) failed transiently at
// their first attempt within 10m; pipeline.tolerance.max_transient_rate is 10 %".
func (b Breach) String() string {
	what := map[Code]string{
		NullRate: "have no value in the field " + b.Field, TransientRate: "failed transiently at their first attempt", DeadLetterRate: "became dead letters",
	}[b.Code]
	where := "within " + config.Duration(b.Over).String()
	if b.Batch != "" {
		where = "in batch " + b.Batch
	}
	flying := ""
	if b.InFlight > 0 {
		flying = fmt.Sprintf(", with %d in flight", b.InFlight)
	}
	return fmt.Sprintf("%d of %d records (%s) %s %s%s; pipeline.tolerance.%s is %s",
		b.Bad, b.Of, percent(b.Share()), what, where, flying, b.Code.key(), percent(b.Limit))
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
