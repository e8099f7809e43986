// Package devbroker is an embedded Kafka broker for demonstrations: franz-go's kfake on one port of
// this machine, with transactions, consumer groups and, on request, data on disk, so that other
// tools (kcat, Kafka's own scripts) can look inside while it runs.
//
// It is not a Kafka to keep data in, and says so loudly (Banner). kfake ends transactions at once and
// never fences the way a broker does, so nothing that is seen here proves exactly-once, fencing or
// crash safety. Therefore it refuses to start where real brokers are configured, never listens
// beyond 127.0.0.1, and creates no topic by itself: topics that clients make by asking for them do
// not survive a kill.
package devbroker
