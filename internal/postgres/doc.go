// Package postgres opens a database of PostgreSQL for many short transactions, and says in its errors which one it is, but
// never how to get in.
//
// It knows no statements: what is asked of the database, its users say.
package postgres
