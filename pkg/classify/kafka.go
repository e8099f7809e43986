package classify

import (
	"errors"
	"strconv"
)

// kafkaErrors maps the error codes of the Kafka protocol. An unlisted one is CodeBrokerRejected: the next attempt would
// fail too.
func kafkaErrors() []numbered {
	return []numbered{
		{"2", CodeBrokerUnavailable, "corrupt message on the way"},
		{"3", CodeBrokerUnavailable, "unknown topic or partition: it is being created or moved"},
		{"5", CodeBrokerUnavailable, "leader not available"},
		{"6", CodeBrokerUnavailable, "not leader or follower"},
		{"7", CodeTimeout, "request timed out"},
		{"8", CodeBrokerUnavailable, "broker not available"},
		{"9", CodeBrokerUnavailable, "replica not available"},
		{"10", CodeOutputTooLarge, "message too large"},
		{"13", CodeBrokerUnavailable, "network exception"},
		{"14", CodeBrokerUnavailable, "coordinator load in progress"},
		{"15", CodeBrokerUnavailable, "coordinator not available"},
		{"16", CodeBrokerUnavailable, "not coordinator"},
		{"18", CodeOutputTooLarge, "record list too large"},
		{"19", CodeBrokerUnavailable, "not enough replicas"},
		{"20", CodeBrokerUnavailable, "not enough replicas after append"},
		{"22", CodeBrokerUnavailable, "illegal generation: the group has moved on"},
		{"25", CodeBrokerUnavailable, "unknown member: the group has moved on"},
		{"27", CodeBrokerUnavailable, "rebalance in progress"},
		{"29", CodeBrokerAccess, "topic authorization failed"},
		{"30", CodeBrokerAccess, "group authorization failed"},
		{"31", CodeBrokerAccess, "cluster authorization failed"},
		{"33", CodeBrokerAccess, "unsupported SASL mechanism"},
		{"34", CodeBrokerAccess, "illegal SASL state"},
		{"41", CodeBrokerUnavailable, "not controller"},
		{"47", CodeBrokerUnavailable, "invalid producer epoch: another instance took over"},
		{"51", CodeBrokerUnavailable, "concurrent transactions"},
		{"53", CodeBrokerAccess, "transactional id authorization failed"},
		{"54", CodeBrokerAccess, "security disabled"},
		{"56", CodeBrokerUnavailable, "storage error of one broker"},
		{"58", CodeBrokerAccess, "SASL authentication failed"},
		{"65", CodeBrokerAccess, "delegation token authorization failed"},
		{"70", CodeBrokerUnavailable, "fetch session not found"},
		{"71", CodeBrokerUnavailable, "invalid fetch session epoch"},
		{"72", CodeBrokerUnavailable, "listener not found"},
		{"74", CodeBrokerUnavailable, "fenced leader epoch"},
		{"75", CodeBrokerUnavailable, "unknown leader epoch"},
		{"78", CodeBrokerUnavailable, "offset not available"},
		{"80", CodeBrokerUnavailable, "preferred leader not available"},
		{"82", CodeBrokerUnavailable, "fenced instance id: another instance took over"},
		{"83", CodeBrokerUnavailable, "eligible leaders not available"},
		{"84", CodeBrokerUnavailable, "election not needed: the metadata is old"},
		{"88", CodeBrokerUnavailable, "unstable offset commit: a transaction is open"},
		{"89", CodeBrokerUnavailable, "throttling quota exceeded"},
		{"90", CodeBrokerUnavailable, "producer fenced: another instance took over"},
		{"100", CodeBrokerUnavailable, "unknown topic id"},
		{"103", CodeBrokerUnavailable, "inconsistent topic id"},
		{"106", CodeBrokerUnavailable, "fetch session topic id error"},
		{"133", CodeBrokerUnavailable, "share session limit reached"},
	}
}

// kafkaErrorCode returns the number of a Kafka error. Clients have no common interface for it, so a program gives its
// client's errors this method (pkg/retrytopics does for franz-go).
func kafkaErrorCode(err error) (int16, bool) {
	var numbered interface{ KafkaErrorCode() int16 }
	if errors.As(err, &numbered) {
		return numbered.KafkaErrorCode(), true
	}
	return 0, false
}

// kafkaCode returns the code of a Kafka error number.
func kafkaCode(number int16) Code {
	text := strconv.Itoa(int(number))
	for _, row := range kafkaErrors() {
		if row.number == text {
			return row.code
		}
	}
	return CodeBrokerRejected
}
