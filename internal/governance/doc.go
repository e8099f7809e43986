// Package governance applies the rules about the use of a record's content (CARE principles, data sovereignty,
// lineage), and keeps the ledger of the records that those rules stopped.
//
// A Policy reads the marks of a record and returns the rule that it breaks. The ledger is a hash chain for each
// partition in the audit topic. A Ledger extends it inside the engine's transactions, Read exports it, and Verify
// compares it with its heads, which are in a topic of their own.
//
// The package decides nothing about retries: a violation is an error with the code governance_denied, and the engine
// never retries it. It signs nothing: whoever may write to the audit topic and to the topic of the heads can write
// another history. Only an exported ledger that is kept elsewhere reveals that.
package governance
