package cli

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
)

// Exit is an exit code. It means the same in both programs. It is a closed list (see [Exits]).
type Exit int

// The exit codes.
const (
	ExitDone        Exit = 0
	ExitRuntime     Exit = 1
	ExitUsage       Exit = 2
	ExitNothing     Exit = 3
	ExitPartly      Exit = 4
	ExitRefused     Exit = 5
	ExitStopped     Exit = 6
	ExitInterrupted Exit = 130
)

// Exits returns every exit code.
func Exits() []Exit {
	return []Exit{ExitDone, ExitRuntime, ExitUsage, ExitNothing, ExitPartly, ExitRefused, ExitStopped, ExitInterrupted}
}

// about returns the meaning of an exit code for people and for programs, and the corresponding HTTP status.
func (e Exit) about() (meaning, word string, status int) {
	switch e {
	case ExitDone:
		return "done", "done", http.StatusOK
	case ExitRuntime:
		return "something outside failed: a broker, a topic, a file", "unavailable", http.StatusServiceUnavailable
	case ExitUsage:
		return "the command line or a file is wrong", "usage", http.StatusBadRequest
	case ExitNothing:
		return "nothing matched", "nothing", http.StatusNotFound
	case ExitPartly:
		return "something failed or exceeds its limits", "partly", http.StatusConflict
	case ExitRefused:
		return "nothing was changed: not confirmed, or another replayer is at work", "refused", http.StatusConflict
	case ExitStopped:
		return "the pipeline is paused, or a replay stopped or was cancelled", "stopped", http.StatusConflict
	case ExitInterrupted:
		return "stopped by a signal", "interrupted", http.StatusServiceUnavailable
	default:
		return "", "", http.StatusInternalServerError
	}
}

// Meaning returns the meaning of an exit code for people.
func (e Exit) Meaning() string {
	meaning, _, _ := e.about()
	return meaning
}

// Word returns the name of an exit code for programs, such as the clients of the console.
func (e Exit) Word() string {
	_, word, _ := e.about()
	return word
}

// HTTPStatus returns the status of the console's answer for an error with which a command ends with an exit code.
func (e Exit) HTTPStatus() int {
	_, _, status := e.about()
	return status
}

// ExitError is an error with the exit code of its command. Its Err is nil if everything was printed already.
type ExitError struct {
	Code Exit
	Err  error
}

func (e ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

func (e ExitError) Unwrap() error { return e.Err }

// UsageError returns an error about a wrong command line.
func UsageError(format string, args ...any) error {
	return ExitError{ExitUsage, fmt.Errorf(format, args...)}
}

// ExitHelp returns the part about exit codes in the help of both programs. Its lines have at most 80 characters.
func ExitHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, e := range Exits() {
		fmt.Fprintf(&b, "  %3d  %s\n", e, e.Meaning())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// The linker sets these (-X) in a build without version control (see deploy/Dockerfile). It can set only strings.
//
//nolint:gochecknoglobals // the linker writes them; nothing else does
var (
	stampedVersion string
	stampedCommit  string
)

// Build describes how a binary was built.
type Build struct {
	Version  string `json:"version"`               // such as v1.2.3, or a pseudo-version; "(devel)" if it is unknown
	Commit   string `json:"commit"`                // 40 hexadecimal digits, 12 if only a pseudo-version names it, "" if it is unknown
	Modified bool   `json:"modified"`              // the working tree had changes that are in no commit
	Time     string `json:"commit_time,omitempty"` // of the commit, RFC 3339; "" if it is unknown
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

// buildOf prefers the values of the linker over those of the toolchain: an image may be built from a copy of the files.
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

// Label returns version and commit with a blank between them, as in the metric of the build.
func (i Build) Label() string {
	if i.Commit == "" {
		return i.Version
	}
	return i.Version + " " + i.Commit
}

// String returns the Build in one line, such as "v1.2.3 (commit 0123456789ab, go1.26.8 linux/amd64)".
func (i Build) String() string {
	return fmt.Sprintf("%s (commit %s, %s %s)", i.Version, i.commit(12), i.Go, i.Platform)
}

// commit returns the commit, shortened to a number of digits.
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
