package broker

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// kafkaVersion is the version of Apache Kafka in the container and the jars.
const kafkaVersion = "4.1.0"

// maxMessageBytes is the largest record batch of the test brokers. It must fit the 10 MB record of the bad-input tests
// with its headers.
const maxMessageBytes = 16 << 20

// nodeSettings returns the settings of a single test node, which is broker and controller: groups form at once, every
// internal topic has one replica, and topics are not created automatically.
func nodeSettings(controller string) map[string]string {
	return map[string]string{
		"node.id":                                          "1",
		"process.roles":                                    "broker,controller",
		"controller.quorum.voters":                         "1@" + controller,
		"controller.listener.names":                        "CONTROLLER",
		"inter.broker.listener.name":                       "PLAINTEXT",
		"listener.security.protocol.map":                   "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"offsets.topic.replication.factor":                 "1",
		"offsets.topic.num.partitions":                     "4",
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"transaction.state.log.num.partitions":             "4",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
		"group.initial.rebalance.delay.ms":                 "0",
		"auto.create.topics.enable":                        "false",
		"message.max.bytes":                                strconv.Itoa(maxMessageBytes),
		"replica.fetch.max.bytes":                          strconv.Itoa(maxMessageBytes),
		"log.segment.bytes":                                strconv.Itoa(64 << 20),
		"log.cleaner.dedupe.buffer.size":                   strconv.Itoa(16 << 20),
		"num.network.threads":                              "2",
		"num.io.threads":                                   "4",
	}
}

// envName returns a setting's variable in the container's environment.
func envName(setting string) string {
	return "KAFKA_" + strings.ToUpper(strings.ReplaceAll(setting, ".", "_"))
}

// properties formats settings as a Java properties file, sorted.
func properties(settings map[string]string) []byte {
	var out []byte
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		out = fmt.Appendf(out, "%s=%s\n", key, settings[key])
	}
	return out
}
