// Package overlay patches third-party code for the simulation, without a fork and without a replace directive in go.mod.
// It applies the patches in its folders to copies, and returns the flags with which `go build` uses the copies. Only the
// simulation is built with them, never the product.
//
// The patches of kfake are in the form of upstream contributions (see the text of each patch).
package overlay
