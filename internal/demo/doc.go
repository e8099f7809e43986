// Package demo is the main job on one machine with nothing installed: `consumer demo`.
//
//	embedded broker ── topics ── real events, paced over an outage ── consumer ── verify
//	   └── the fix: geometry.validity flag ── replay of the dead letters ── consumer ── verify
//
// It starts a broker (internal/devbroker) and an unreliable remote service (placeService), produces the
// embedded earthquakes and counties, runs the ordinary consumer over them, and then does what an operator does: looks at
// the dead letters, corrects the mapping, replays. The web console (internal/console) shows the same dead letters. The demo counts no records itself: `consumer verify records` does.
//
// Everything between broker and report is the product's own code with an ordinary pipeline file; the demo only
// sets the scene. It refuses to run against real brokers, and it proves no guarantee: the embedded
// broker ends transactions at once and never fences. The integration suite on real Kafka is for that.
package demo
