// Package governance holds records to the rules about the use of their content (CARE principles, data sovereignty,
// lineage), and keeps the ledger of what those rules stopped.
//
// A Policy reads the marks of a record and says which rule it breaks. The ledger is a chain of hashes for each partition in
// the audit topic: Entries extends it inside the engine's transactions, Read takes it out again and Verify holds it against
// the heads, which lie in a topic of their own.
//
// The package decides nothing about retries: a violation is an error with the code governance_denied, and the engine never
// tries that again. It signs nothing: who may write to the audit topic and to the topic of the heads can write another
// history, and only an exported ledger kept elsewhere shows it.
package governance
