package kafka

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/pkg/classify"
)

// TestClassified_S4_3 holds the numbers of classify to the client's own list: what Kafka calls retriable passes, and
// nothing else does, but for the errors of an instance that another one has replaced.
func TestClassified_S4_3_everyKafkaError(t *testing.T) {
	t.Parallel()
	replaced := map[string]bool{
		"ILLEGAL_GENERATION": true, "UNKNOWN_MEMBER_ID": true, "REBALANCE_IN_PROGRESS": true, "INVALID_PRODUCER_EPOCH": true,
		"CONCURRENT_TRANSACTIONS": true, "FENCED_INSTANCE_ID": true, "PRODUCER_FENCED": true,
	}
	of, known := Classified(classify.Of), 0
	for code := int16(-1); code < 300; code++ {
		broker, ok := kerr.ErrorForCode(code).(*kerr.Error) //nolint:errorlint // the list itself
		if !ok || broker.Code != code {
			continue // 0, and numbers that are not given out
		}
		known++
		err := fmt.Errorf("produce: %w", broker)
		f := of(err)
		if want := broker.Retriable || replaced[broker.Message]; f.Transient() != want {
			t.Errorf("%d %s: transient is %v, want %v", code, broker.Message, f.Transient(), want)
		}
		if f.Err != err { //nolint:errorlint // the very same
			t.Errorf("%d: the failure holds %v", code, f.Err)
		}
	}
	expect.That(t, known >= 120, "the client knows only %d errors", known)
	expect.Equal(t, of(kgo.ErrRecordTimeout).Code, classify.CodeTimeout, "a record that timed out")
}
