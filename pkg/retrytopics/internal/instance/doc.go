// Package instance is one member of a consumer group over all of its sessions: its configuration, what it found out about
// the topics, what prevents it from committing, what it lost, and the answers that a later session can use.
//
// Its parts guard themselves: sessions, housekeeping and the program that asks for statistics use them at the same time.
// The package has no session, polls nothing and decides nothing about a record.
package instance
