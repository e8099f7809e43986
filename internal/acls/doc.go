// Package acls says which privileges the commands need on a Kafka cluster with ACLs: the one table of operations and
// resources, from the pipeline file, as kafka-acls.sh commands and as data.
//
// Operations that another one implies (Read, Write and Delete imply Describe) are left out.
//
// The package refuses to talk to a cluster: who may grant privileges is for the cluster's administrators to say.
package acls
