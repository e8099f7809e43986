package plan

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Scratch writes a plan that nobody keeps: into a file of the temporary folder, so that a million letters need
// little memory, and without a name there, so that nothing stays behind however the process ends. Close it.
func Scratch(head Head, fill func(*Writer) error) (_ *Plan, err error) {
	file, err := os.CreateTemp("", "switchback-plan-*")
	if err != nil {
		return nil, fmt.Errorf("write a plan: %w", err)
	}
	end := file.Close
	if os.Remove(file.Name()) != nil {
		// This system removes no open file (Windows): it is removed in the end, unless the process is killed.
		end = func() error { return errors.Join(file.Close(), os.Remove(file.Name())) }
	}
	defer func() {
		if err != nil {
			_ = end()
		}
	}()
	p, err := write(file, head, fill)
	if err != nil {
		return nil, err
	}
	size, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, fmt.Errorf("write a plan: %w", err)
	}
	p.open = func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(file, 0, size)), nil }
	p.end = end
	return p, nil
}
