// Package demo shows the main job on one machine without any installation: `consumer demo`.
//
//	embedded broker ── topics ── real events, paced over an outage ── consumer ── verify
//	   └── the fix: geometry.validity flag ── replay of the dead letters ── consumer ── verify
//
// It starts a broker (internal/devbroker) and an unreliable remote service (placeService), produces the embedded
// earthquakes and counties, and runs the ordinary consumer on them. Then it does what an operator does: it looks at the
// dead letters, corrects the mapping and replays. The web console (internal/console) shows the same dead letters. The
// demo does not count records itself: `consumer verify records` does.
//
// Everything between broker and report is the product's own code with an ordinary pipeline file. The demo refuses to run
// against real brokers, and it proves no guarantee: the embedded broker ends transactions at once and never fences. The
// integration suite on real Kafka proves the guarantees.
package demo
