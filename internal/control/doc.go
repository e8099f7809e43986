// Package control is the memory of what a person or a gate ordered for a whole pipeline: whether it runs or is held, and
// which batches of the producer are quarantined. It lives in the compacted topic `<source>.control`, which has one
// partition, so that all instances see one order of events and a new one sees what was ordered before it came.
//
//	pipeline    → {"version":1,"state":"paused","reason":"…","code":"dead_letter_rate","by":"consumer a","at":"…"}
//	pipeline    → {"version":1,"state":"running","code":"operator","at":"…","gates_off_until":"…"}: no rate gate pauses it until then
//	batch/<id>  → {"version":1,"state":"quarantined", …}; a tombstone takes the quarantine away
//
//	chain       → {"seq":7,"prev":"sha256:…","hash":"sha256:…"}: where the chain of orders in the audit topic ends
//
//	replay-key/<id> → {"version":1,"key":"<base64>", …}: signs replays, so nobody but the pipeline may read the topic
//
//	lease/replayer → {"version":1,"owner":"jo@desk","operation":"…","purpose":"…", …}: which replayer is at work
//
//	job/<id> → {"version":1,"kind":"replay","state":"running","done":4000, …}: an operation of a replayer, its progress and result
//
//	mapping/<fingerprint> → {"version":1,"file":"pipeline:\n…","at":"…"}: the pipeline file of instances, for replayers with another one
//
//	job-order/<id> → {"version":1,"verb":"pause","run":"…","by":"bo", …}: what an operator orders of a job
//
// The last record of a key counts. Each change is written together with its event in the audit topic, in one transaction
// where the pipeline has transactions. There the events are a chain of hashes, too: all who give orders write under one
// transactional id, so that one at a time does (docs/decisions/0023). audit.Verify holds the chain against its head.
//
// The package decides nothing: who holds, and what a held instance does, is the business of internal/consumer.
package control
