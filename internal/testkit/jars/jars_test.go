package jars

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// cache gives the test a cache folder and a PATH of its own.
func cache(t *testing.T) (folder, path string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the cache folder is set by XDG_CACHE_HOME on Linux only")
	}
	folder, path = t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", folder)
	t.Setenv("PATH", path)
	return filepath.Join(folder, "switchback"), path
}

func TestFetch_takes_what_is_in_the_cache(t *testing.T) {
	folder, _ := cache(t)
	want := filepath.Join(folder, "some-1.0")
	if err := os.MkdirAll(want, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, download := range []bool{false, true} {
		if got, err := (Set{Name: "some-1.0"}).Fetch(t.Context(), download); err != nil || got != want {
			t.Errorf("download %t: %s, %v", download, got, err)
		}
	}
}

func TestFetch_jars_that_cannot_be_had_are_absent(t *testing.T) {
	cache(t)
	for download, want := range map[bool]string{false: "not in the cache", true: "mvn is not installed"} {
		if _, err := (Set{Name: "some-1.0"}).Fetch(t.Context(), download); !errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), want) {
			t.Errorf("download %t: %v", download, err)
		}
	}
}

// A download that breaks off is an error with what Maven said, and leaves nothing that a later run would take for the jars.
func TestFetch_leaves_nothing_of_a_broken_download(t *testing.T) {
	folder, path := cache(t)
	script := "#!/bin/sh\necho no such version; exit 1\n"
	if err := os.WriteFile(filepath.Join(path, "mvn"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := (Set{Name: "some-1.0"}).Fetch(t.Context(), true)
	if err == nil || errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), "no such version") {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
