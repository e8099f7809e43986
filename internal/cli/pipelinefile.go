package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// PipelineFileVariable is the environment variable that names the pipeline file.
const PipelineFileVariable = "SWITCHBACK_CONFIG"

// PipelineFileHelp is the sentence about it in the help of both programs.
const PipelineFileHelp = "Commands with a pipeline file (YAML) read it from -c FILE, from an argument where they have no other, or from " + PipelineFileVariable + "."

// PipelineFileUsage describes the flag -c of a command that also takes the file as its argument.
const PipelineFileUsage = "pipeline file (YAML); also as an argument, or by " + PipelineFileVariable

// PipelineFlagUsage describes the flag -c of a command that does not accept the file as its argument.
const PipelineFlagUsage = "pipeline file (YAML); also by " + PipelineFileVariable

// PipelineGlobalUsage describes the flag -c of several commands, some of which have another argument.
const PipelineGlobalUsage = "pipeline file (YAML); also by " + PipelineFileVariable + ", or as an argument where the command has no other"

// ErrNoPipelineFile means that nothing names a pipeline file.
var ErrNoPipelineFile = errors.New("no pipeline file is named: give it with -c FILE, as an argument where the command has no other, or by " + PipelineFileVariable)

// NamedPipelineFile has the names of a pipeline file from each place; nil is no name. An empty name is a mistake,
// such as a shell variable that is not set. An empty environment variable counts as unset.
type NamedPipelineFile struct {
	Flag, Argument *string
	Environment    string
}

// PipelineFile is the chosen file and the place that named it: "-c", "the argument" or "SWITCHBACK_CONFIG".
type PipelineFile struct{ File, By string }

// Choose returns the named file. The error is [ErrNoPipelineFile] if nothing names one. A name that is empty, and two
// different files, are other errors.
func (n NamedPipelineFile) Choose() (PipelineFile, error) {
	var chosen PipelineFile
	for _, c := range []struct {
		by   string
		file *string
	}{{"-c", n.Flag}, {"the argument", n.Argument}, {PipelineFileVariable, orNil(n.Environment)}} {
		switch {
		case c.file == nil:
		case *c.file == "":
			return PipelineFile{}, fmt.Errorf("%s names an empty pipeline file: is a variable of the shell not set?", c.by)
		case chosen.By == "":
			chosen = PipelineFile{File: *c.file, By: c.by}
		case !sameFile(chosen.File, *c.file):
			return PipelineFile{}, fmt.Errorf("two pipeline files are named: %q by %s and %q by %s; name one, so that no command acts on the wrong pipeline", chosen.File, chosen.By, *c.file, c.by)
		}
	}
	if chosen.By == "" {
		return PipelineFile{}, ErrNoPipelineFile
	}
	return chosen, nil
}

func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// sameFile reports whether two names denote one file, which need not exist.
func sameFile(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
