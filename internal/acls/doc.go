// Package acls returns the privileges that the commands need on a Kafka cluster with ACLs: one table of operations and
// resources from the pipeline file, as kafka-acls.sh commands and as data.
//
// It leaves out operations that another one implies (Read, Write and Delete imply Describe).
//
// The package does not talk to a cluster: its administrators decide who may grant privileges.
package acls
