// Package places is the remote dependency of the demo: a real HTTP service that tells where a
// feature lies, and that is as unreliable as such services are.
//
// Its answers are real. A county is looked up by its id; for an earthquake the service finds the
// county that contains the epicentre, or else the one whose boundary is nearest, among the
// embedded counties of the United States.
//
//	GET /place?id=ci37868143        {"name":"Los Angeles, California","county":"Los Angeles",…}
//	GET /place?lon=-118.67&lat=34.49
//
// Its failures are a script (Script): 503s, 429s with Retry-After, slow answers, answers slower than
// any client waits, and then one outage, after which all is well. The script is a pure function of a
// seed, of what was asked and of the time since the first question, so that every run of the demo
// meets the same weather.
//
// It is for the demo only: it knows the embedded features and nothing else.
package places
