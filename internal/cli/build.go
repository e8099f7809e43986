package cli

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"runtime/debug"
	"text/tabwriter"
)

// What a build without version control is told of by the linker (-X), see deploy/Dockerfile. Only strings can be set so.
//
//nolint:gochecknoglobals // the linker writes them; nothing else does
var (
	stampedVersion string
	stampedCommit  string
)

// Build says what a binary was built from.
type Build struct {
	Version  string `json:"version"`               // such as v1.2.3, or a pseudo-version; "(devel)" when nothing named one
	Commit   string `json:"commit"`                // 40 hexadecimal digits, 12 when only a pseudo-version names it, "" when not known
	Modified bool   `json:"modified"`              // the working tree had changes that are in no commit
	Time     string `json:"commit_time,omitempty"` // of the commit, RFC 3339; "" when not known
	Go       string `json:"go"`                    // such as go1.26.8
	Platform string `json:"platform"`              // such as linux/amd64
}

// ReadBuild returns the Build of the running binary.
func ReadBuild() Build {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}
	return buildOf(build, stampedVersion, stampedCommit)
}

const develVersion = "(devel)"

// pseudoVersion matches the versions that Go makes of commits without a tag, with and without +incompatible and +dirty.
var pseudoVersion = regexp.MustCompile(`^v\d+\.\d+\.\d+-(?:[0-9A-Za-z.-]+\.)?\d{14}-([0-9a-f]{12})(?:\+|$)`)

// buildOf prefers what the builder named over what the toolchain saw: an image may be built from a copy of the files.
func buildOf(build *debug.BuildInfo, version, commit string) Build {
	info := Build{
		Version: cmp.Or(version, build.Main.Version, develVersion), Commit: commit,
		Go: cmp.Or(build.GoVersion, runtime.Version()), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if commit != "" {
		return info
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Commit = s.Value
		case "vcs.time":
			info.Time = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	if named := pseudoVersion.FindStringSubmatch(build.Main.Version); info.Commit == "" && named != nil {
		info.Commit = named[1]
	}
	return info
}

// Label is version and commit with a blank between them, as the metric of the build has them.
func (i Build) Label() string {
	if i.Commit == "" {
		return i.Version
	}
	return i.Version + " " + i.Commit
}

// String is the Info in one line, such as "v1.2.3 (commit 0123456789ab, go1.26.8 linux/amd64)".
func (i Build) String() string {
	return fmt.Sprintf("%s (commit %s, %s %s)", i.Version, i.commit(12), i.Go, i.Platform)
}

// commit writes the commit with at most so many digits.
func (i Build) commit(digits int) string {
	text := cmp.Or(i.Commit[:min(digits, len(i.Commit))], "unknown")
	if i.Modified {
		text += " with changes"
	}
	return text
}

// Text writes the Build of a program for people.
func (i Build) Text(out io.Writer, program string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\t%s\ncommit\t%s\n", program, i.Version, i.commit(len(i.Commit)))
	if i.Time != "" {
		fmt.Fprintf(w, "of\t%s\n", i.Time)
	}
	fmt.Fprintf(w, "go\t%s\nplatform\t%s\n", i.Go, i.Platform)
	return w.Flush()
}
