package kafka

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/switchback-geo/switchback/pkg/classify"
)

// brokerError gives an error of the Kafka client the method that classify reads its number from. classify imports no
// client, and the client's errors have a field instead of a method.
type brokerError struct {
	error
	code int16
}

func (e *brokerError) Unwrap() error         { return e.error }
func (e *brokerError) KafkaErrorCode() int16 { return e.code }

// Numbered adds the number of the Kafka error that err wraps, if there is one. If the client gave up after its timeout
// or retries, the number is that of a request that timed out.
func Numbered(err error) error {
	if broker, ok := errors.AsType[*kerr.Error](err); ok {
		return &brokerError{err, broker.Code}
	}
	if errors.Is(err, kgo.ErrRecordTimeout) || errors.Is(err, kgo.ErrRecordRetries) {
		return &brokerError{err, kerr.RequestTimedOut.Code}
	}
	return err
}

// Classified lets a classifier see the numbers of Kafka errors. The failure keeps the original error.
func Classified(classifier func(error) classify.Failure) func(error) classify.Failure {
	return func(err error) classify.Failure {
		f := classifier(Numbered(err))
		f.Err = err
		return f
	}
}
