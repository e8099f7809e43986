package cli

import (
	"runtime"
	"runtime/debug"
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
		want            Build
	}{
		{"go install of a tag", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "", "", Build{Version: "v1.2.3"}},
		{"go install of a commit", debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261123160812-0123456789ab"}}, "", "", Build{Version: "v0.0.0-20261123160812-0123456789ab", Commit: "0123456789ab"}},
		{"go install of a commit behind a tag", debug.BuildInfo{Main: debug.Module{Version: "v1.2.4-0.20261123160812-0123456789ab"}}, "", "", Build{Version: "v1.2.4-0.20261123160812-0123456789ab", Commit: "0123456789ab"}},
		{
			"go build in a checkout with changes",
			debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261123160812-0123456789ab+dirty"}, Settings: settings("vcs.revision", full, "vcs.time", "2026-11-23T16:08:12Z", "vcs.modified", "true")},
			"", "", Build{Version: "v0.0.0-20261123160812-0123456789ab+dirty", Commit: full, Time: "2026-11-23T16:08:12Z", Modified: true},
		},
		{"go run, or without version control", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "", "", Build{Version: "(devel)"}},
		{"nothing in the binary", debug.BuildInfo{}, "", "", Build{Version: "(devel)"}},
		{"an image without .git", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "v1.2.3", full, Build{Version: "v1.2.3", Commit: full}},
		{
			"the builder is believed as a whole",
			debug.BuildInfo{Main: debug.Module{Version: "v9.9.9"}, Settings: settings("vcs.revision", "fedcba", "vcs.modified", "true", "vcs.time", "2020-01-01T00:00:00Z")},
			"v1.2.3", full, Build{Version: "v1.2.3", Commit: full},
		},
		{"a prerelease is no pseudo-version", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3-rc.1"}}, "", "", Build{Version: "v1.2.3-rc.1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.build.GoVersion = "go1.99"
			c.want.Go, c.want.Platform = "go1.99", runtime.GOOS+"/"+runtime.GOARCH
			if got := buildOf(&c.build, c.version, c.commit); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestRead_ofThisBinary(t *testing.T) {
	if got := ReadBuild(); got.Version == "" || got.Go != runtime.Version() {
		t.Errorf("got %+v", got)
	}
}
