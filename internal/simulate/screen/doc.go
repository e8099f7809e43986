// Package screen shows the report of a simulation to people: tables in plain text. It computes nothing that the report does not say.
package screen
