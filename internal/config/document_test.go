package config

import (
	"strings"
	"testing"
	"time"
)

// No text of the largest size may keep the process busy: what is beyond the limits is refused unread.
func TestReadDocument_is_bounded(t *testing.T) {
	for name, text := range map[string]string{
		"brackets":    strings.Repeat("[", maxFileBytes),
		"braces":      strings.Repeat("{a: ", maxFileBytes/4),
		"block lists": strings.Repeat("- ", maxFileBytes/2-1) + "a",
		"many keys":   strings.Repeat("a: 1\n", maxFileBytes/5),
		"too long":    strings.Repeat("a: 1\n", maxFileBytes),
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan error, 1)
			go func() {
				_, err := Parse("x", []byte(text), nil)
				done <- err
			}()
			select {
			case err := <-done:
				if err == nil {
					t.Error("it was accepted")
				}
			case <-time.After(time.Minute):
				t.Error("it takes more than a minute")
			}
		})
	}
}
