// Package cluster turns the kafka part of a pipeline file into options of a Kafka client, says in one line why a
// broker cannot be reached, and who is in a consumer group.
//
// User and password are read when a connection is made, so that a changed secret is taken up without a restart and none
// is kept. Nothing here prints them.
//
// The package refuses to make clients: groups, transactions and partitioners are the business of those who use one.
package cluster
