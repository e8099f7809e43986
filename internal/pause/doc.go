// Package pause waits between two tries, for a time or until the context ends. It decides neither how long nor how often.
package pause
