// Package versions finds out which event took effect last for the keys of dead letters, as the consumer remembers it: in
// the state topic and the ledger. A replay of an older dead letter is closed as superseded, unless it is forced.
//
// The package only reads. It knows no event that the consumer has not read yet.
package versions
