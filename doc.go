// Package switchback is the root of the Switchback module. It holds no code: the libraries are under
// pkg/, the programs under cmd/. What it does hold is the test of the whole tree (repo_test.go): the
// import direction, the size and the documentation of every package, and the link from each
// requirement to the test that proves it.
package switchback
