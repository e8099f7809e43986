package version

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

const full = "0123456789abcdef0123456789abcdef01234567"

func settings(pairs ...string) (out []debug.BuildSetting) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
	}
	return out
}

func TestOf_everyWayToBuild(t *testing.T) {
	for _, c := range []struct {
		name            string
		build           debug.BuildInfo
		version, commit string // by the linker
		want            Info
	}{
		{"go install of a tag", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "", "", Info{Version: "v1.2.3"}},
		{"go install of a commit", debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261123160812-0123456789ab"}}, "", "", Info{Version: "v0.0.0-20261123160812-0123456789ab", Commit: "0123456789ab"}},
		{"go install of a commit behind a tag", debug.BuildInfo{Main: debug.Module{Version: "v1.2.4-0.20261123160812-0123456789ab"}}, "", "", Info{Version: "v1.2.4-0.20261123160812-0123456789ab", Commit: "0123456789ab"}},
		{
			"go build in a checkout with changes",
			debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261123160812-0123456789ab+dirty"}, Settings: settings("vcs.revision", full, "vcs.time", "2026-11-23T16:08:12Z", "vcs.modified", "true")},
			"", "", Info{Version: "v0.0.0-20261123160812-0123456789ab+dirty", Commit: full, Time: "2026-11-23T16:08:12Z", Modified: true},
		},
		{"go run, or without version control", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "", "", Info{Version: "(devel)"}},
		{"nothing in the binary", debug.BuildInfo{}, "", "", Info{Version: "(devel)"}},
		{"an image without .git", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "v1.2.3", full, Info{Version: "v1.2.3", Commit: full}},
		{
			"the builder is believed as a whole",
			debug.BuildInfo{Main: debug.Module{Version: "v9.9.9"}, Settings: settings("vcs.revision", "fedcba", "vcs.modified", "true", "vcs.time", "2020-01-01T00:00:00Z")},
			"v1.2.3", full, Info{Version: "v1.2.3", Commit: full},
		},
		{"a prerelease is no pseudo-version", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3-rc.1"}}, "", "", Info{Version: "v1.2.3-rc.1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.build.GoVersion = "go1.99"
			c.want.Go, c.want.Platform = "go1.99", runtime.GOOS+"/"+runtime.GOARCH
			if got := of(&c.build, c.version, c.commit); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestInfo_forPeople(t *testing.T) {
	info := Info{Version: "v1.2.3", Commit: full, Modified: true, Time: "2026-11-23T16:08:12Z", Go: "go1.26.8", Platform: "linux/amd64"}
	if got, want := info.String(), "v1.2.3 (commit 0123456789ab with changes, go1.26.8 linux/amd64)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var out strings.Builder
	if err := info.Text(&out, "consumer"); err != nil {
		t.Fatal(err)
	}
	want := "consumer  v1.2.3\ncommit    " + full + " with changes\nof        2026-11-23T16:08:12Z\ngo        go1.26.8\nplatform  linux/amd64\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
	if got := info.Label(); got != "v1.2.3 "+full {
		t.Errorf("label %q", got)
	}
	if got := (Info{Version: "(devel)"}).Label(); got != "(devel)" {
		t.Errorf("label without a commit %q", got)
	}
	if got := (Info{Version: "(devel)", Go: "go1.26.8", Platform: "linux/amd64"}).String(); got != "(devel) (commit unknown, go1.26.8 linux/amd64)" {
		t.Errorf("without a commit: %q", got)
	}
}

func TestRead_ofThisBinary(t *testing.T) {
	if got := Read(); got.Version == "" || got.Go != runtime.Version() {
		t.Errorf("got %+v", got)
	}
}
