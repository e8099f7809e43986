// Package devbroker is an embedded Kafka broker for demonstrations. It runs franz-go's kfake on one port of this
// machine, with transactions, consumer groups and, on request, data on disk, so that other tools (kcat, Kafka's own
// scripts) can connect while it runs.
//
// It is not for real data, as its Banner warns. kfake ends transactions at once and does not fence like a broker, so
// it proves nothing about exactly-once, fencing or crash safety. Therefore it refuses to start if real brokers are
// configured, and listens on 127.0.0.1 only. It creates no topic on its own, because topics that metadata requests
// create do not survive a kill.
package devbroker
