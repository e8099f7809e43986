// Package control stores the orders of operators and gates for a whole pipeline: whether it runs or is paused, and
// which batches of the producer are quarantined. It uses the compacted topic `<source>.control`, which has one
// partition, so that all instances see one order of events and a new instance sees earlier orders.
//
//	pipeline    → {"version":1,"state":"paused","reason":"…","code":"dead_letter_rate","by":"consumer a","at":"…"}
//	pipeline    → {"version":1,"state":"running","code":"operator","at":"…","gates_off_until":"…"}: no rate gate pauses it until then
//	batch/<id>  → {"version":1,"state":"quarantined", …}; a tombstone ends the quarantine
//
//	chain       → {"seq":7,"prev":"sha256:…","hash":"sha256:…"}: the end of the chain of orders in the audit topic
//
//	replay-key/<id> → {"version":1,"key":"<base64>", …}: signs replays, so only the pipeline may be allowed to read the topic
//
//	lease/replayer → {"version":1,"owner":"jo@desk","operation":"…","purpose":"…", …}: which replayer is at work
//
//	job/<id> → {"version":1,"kind":"replay","state":"running","done":4000, …}: an operation of a replayer, its progress and result
//
//	mapping/<fingerprint> → {"version":1,"file":"pipeline:\n…","at":"…"}: the pipeline file of instances, for replayers with another one
//
//	job-order/<id> → {"version":1,"verb":"pause","run":"…","by":"bo", …}: an operator's order for a job
//
// The last record of a key counts. If the pipeline uses transactions, each change is written together with its event in
// the audit topic, in one transaction. These events form a chain of hashes: all writers of orders use one transactional
// ID, so that only one writes at a time (docs/decisions/0023). audit.Verify compares the chain with its head.
//
// The package decides nothing: package internal/consumer decides who pauses, and what a paused instance does.
package control
