// Package overlay gives what other people's code lacks for the simulation, without a fork and without a replace in go.mod: it
// applies the patches in its folders to copies, and gives the flags with which `go build` uses them. Only the simulation is
// built with them; what the product is built from is never changed.
//
// The patches of kfake are in the form in which they go upstream (see each one's text).
package overlay
