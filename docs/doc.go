// Package docs holds the documentation and the test that keeps it true: every fenced block of the
// README and of the pages here says how it is checked (README.md, "How these pages are kept true"),
// and a block that says nothing fails the test. The package has no code for others.
package docs
