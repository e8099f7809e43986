// Package postgres opens a PostgreSQL database for many short transactions. Its errors name the database, but no secret
// of the connection string.
//
// The package has no statements of its own: its users write them.
package postgres
