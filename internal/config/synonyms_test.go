package config

import (
	"slices"
	"strings"
	"testing"
)

// A key that another tool's name leads to is one of this file.
func TestHints_leadToKeysThatAreThere(t *testing.T) {
	for _, name := range []string{"bootstrap_servers", "retries", "group_id"} {
		if own, _ := otherKey("", name); !slices.Contains(Paths(), own) {
			t.Errorf("%s leads to %q, which is no key", name, own)
		}
	}
}

func TestNearest_aBeginningThatFitsOneWord(t *testing.T) {
	words := []string{"coercion_failed", "geometry_invalid", "geometry_empty"}
	for name, want := range map[string]string{"coercion": "coercion_failed", "COERC": "coercion_failed", "geometry": "", "co": "", "": "", strings.Repeat("c", 100): ""} {
		if got := Nearest(name, words); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
