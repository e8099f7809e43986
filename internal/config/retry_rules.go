package config

import (
	"github.com/switchback-geo/switchback/pkg/classify"
)

// RetryRule is a word of the user's own about some failures. It fits a failure when all of what it names does; code, status,
// sqlstate or kafka must be named.
type RetryRule struct {
	// Code is the code of the failure, such as http_client_error; `consumer validate --explain-errors` lists them.
	Code classify.Code `jsonschema:"maxLength=64" yaml:"code,omitempty"`
	// Status is the status of an HTTP answer.
	Status int `jsonschema:"minimum=100,maximum=599" yaml:"status,omitempty"`
	// SQLState is an SQLSTATE of a database, in quotes: five characters, or the two of a class.
	SQLState string `jsonschema:"maxLength=5" yaml:"sqlstate,omitempty"`
	// Kafka is an error code of the Kafka protocol.
	Kafka int `jsonschema:"minimum=-1,maximum=32767" yaml:"kafka,omitempty"`
	// Stage narrows the rule to failures of one stage.
	Stage classify.Stage `jsonschema:"enum=header,enum=decode,enum=gate,enum=transform,enum=enrich,enum=validate,enum=encode,enum=sink,enum=produce,enum=handler" yaml:"stage,omitempty"`
	// Class is the answer. Mandatory.
	Class classify.Class `example:"retry_backoff" jsonschema:"required,enum=retry_now,enum=retry_backoff,enum=retry_after,enum=permanent,enum=row" yaml:"class"`
	// Category says whose retry policy holds, for a class that is tried again. Defaults to that of the table.
	Category classify.Category `jsonschema:"enum=network,enum=timeout,enum=server,enum=rate_limit,enum=registry,enum=database,enum=conflict,enum=broker,enum=memory,enum=io,enum=other" yaml:"category,omitempty"`
	// Alert is how urgent a dead letter is. Defaults to that of the table.
	Alert classify.Alert `jsonschema:"enum=P1,enum=P2,enum=P3,enum=P4" yaml:"alert,omitempty"`
}

func (r RetryRule) rule() classify.Rule {
	return classify.Rule{
		Code: r.Code, Status: r.Status, SQLState: r.SQLState, Kafka: r.Kafka, Stage: r.Stage,
		Class: r.Class, Category: r.Category, Alert: r.Alert,
	}
}

// Classification gives what the file says over the taxonomy, as classify wants it.
func (p RetryPolicy) Classification() classify.Options {
	o := classify.Options{
		RetryableStatus: p.RetryableStatusCodes, TerminalStatus: p.TerminalStatusCodes,
		Unknown: classify.Permanent, // a human must see it (S4-2)
	}
	if o.RetryableStatus == nil {
		o.RetryableStatus = []int{} // an empty list of the file is a list
	}
	for _, r := range p.Rules {
		o.Rules = append(o.Rules, r.rule())
	}
	return o
}
