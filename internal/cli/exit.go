package cli

import (
	"fmt"
	"net/http"
	"strings"
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

// Meaning says what an exit code tells.
func (e Exit) Meaning() string {
	switch e {
	case ExitDone:
		return "done"
	case ExitRuntime:
		return "something outside failed: a broker, a topic, a file"
	case ExitUsage:
		return "the command line or a file is wrong"
	case ExitNothing:
		return "nothing matched"
	case ExitPartly:
		return "some of it failed, or is not within its limits"
	case ExitRefused:
		return "nothing was changed: consent is missing, or somebody else is at work"
	case ExitStopped:
		return "the pipeline is paused, or a replay stopped or was cancelled"
	case ExitInterrupted:
		return "stopped by a signal"
	default:
		return ""
	}
}

// Word names an exit code for programs, such as the clients of the console.
func (e Exit) Word() string {
	switch e {
	case ExitDone:
		return "done"
	case ExitRuntime:
		return "unavailable"
	case ExitUsage:
		return "usage"
	case ExitNothing:
		return "nothing"
	case ExitPartly:
		return "partly"
	case ExitRefused:
		return "refused"
	case ExitStopped:
		return "stopped"
	case ExitInterrupted:
		return "interrupted"
	default:
		return ""
	}
}

// HTTPStatus returns the status with which the console answers where a command ends with an exit code.
func (e Exit) HTTPStatus() int {
	switch e {
	case ExitDone:
		return http.StatusOK
	case ExitUsage:
		return http.StatusBadRequest
	case ExitNothing:
		return http.StatusNotFound
	case ExitPartly, ExitRefused, ExitStopped:
		return http.StatusConflict
	case ExitRuntime, ExitInterrupted:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// ExitHelp is what the help of both programs says of exit codes, in lines of at most 80 characters.
func ExitHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, e := range Exits() {
		fmt.Fprintf(&b, "  %3d  %s\n", e, e.Meaning())
	}
	return strings.TrimSuffix(b.String(), "\n")
}
