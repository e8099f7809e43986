// Package screen shows the report of a simulation to people: tables and plots for a terminal, in plain text without
// colours. It computes nothing that the report does not say.
package screen
