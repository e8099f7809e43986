package plan

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/switchback-geo/switchback/internal/kafka"
)

const (
	kind    = "switchback replay plan"
	version = 1
)

// headLine is the first line of a plan.
type headLine struct {
	Kind    string `json:"kind"`
	Version int    `json:"version"`
	Head    `json:",inline"`
}

// endLine is the last line.
type endLine struct {
	End struct {
		Letters int    `json:"dead_letters"`
		SHA256  string `json:"sha256"` // of all bytes before this line
	} `json:"end"`
}

// Writer writes a plan: a head, then dead letters in the order of the DLQ, then the end.
type Writer struct {
	out   *bufio.Writer
	hash  hash.Hash
	plan  *Plan
	order order
}

func newPlan(head Head) *Plan {
	return &Plan{Head: head, Spans: map[int32]kafka.Span{}, targets: map[string]int{}, outlook: outlook{}}
}

// Add writes one dead letter. It must follow the previous one in the DLQ.
func (w *Writer) Add(l *Line) error {
	if err := cmp.Or(l.check(), w.order.next(l)); err != nil {
		return err
	}
	w.plan.take(l)
	return w.line(l, true)
}

// take counts a dead letter.
func (p *Plan) take(l *Line) {
	p.Letters++
	p.summary.add(l)
	if l.Do == Reinject && l.Target != "" {
		p.targets[l.Target]++
	}
	p.outlook.add(l)
	span, ok := p.Spans[l.Partition]
	if !ok {
		span = kafka.Span{Start: l.Offset}
	}
	span.End = l.Offset + 1
	p.Spans[l.Partition] = span
}

// end writes the last line.
func (w *Writer) end() error {
	sum := hex.EncodeToString(w.hash.Sum(nil))
	var e endLine
	e.End.Letters, e.End.SHA256 = w.plan.Letters, sum
	if err := w.line(e, false); err != nil {
		return err
	}
	w.plan.Checksum = "sha256:" + sum
	return w.out.Flush()
}

func (w *Writer) line(v any, hashed bool) error {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("write a plan: %w", err)
	}
	if _, letter := v.(*Line); letter && len(text) > maxLetter {
		return fmt.Errorf("write a plan: a dead letter takes %d bytes; the maximum is %d", len(text), maxLetter)
	}
	text = append(text, '\n')
	if hashed {
		w.hash.Write(text)
	}
	if _, err := w.out.Write(text); err != nil {
		return fmt.Errorf("write a plan: %w", err)
	}
	return nil
}

// write writes a whole plan. The caller sets how to read it again.
func write(out io.Writer, head Head, fill func(*Writer) error) (*Plan, error) {
	w := &Writer{out: bufio.NewWriterSize(out, 1<<16), hash: sha256.New(), plan: newPlan(head)}
	if err := w.line(headLine{Kind: kind, Version: version, Head: head}, true); err != nil {
		return nil, err
	}
	if err := fill(w); err != nil {
		return nil, err
	}
	return w.plan, w.end()
}

// Save writes a plan to a file. The file appears complete or not at all. Only its owner can read it, since a plan
// contains feature IDs and error messages.
//
// A process that is killed while it writes leaves an incomplete file ".plan-*" in the folder.
func Save(path string, head Head, fill func(*Writer) error) (_ *Plan, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".plan-*")
	if err != nil {
		return nil, fmt.Errorf("write a plan: %w", err)
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
		}
	}()
	p, err := write(file, head, fill)
	if err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, fmt.Errorf("write a plan: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("write a plan: %w", err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return nil, fmt.Errorf("write a plan: %w", err)
	}
	p.open = func() (io.ReadCloser, error) { return open(path) }
	return p, nil
}

// Scratch writes a plan to a temporary file, so that a million dead letters need little memory. The file has no name,
// so that none remains however the process ends. The caller must close the plan.
func Scratch(head Head, fill func(*Writer) error) (_ *Plan, err error) {
	file, err := os.CreateTemp("", "switchback-plan-*")
	if err != nil {
		return nil, fmt.Errorf("write a plan: %w", err)
	}
	end := file.Close
	if os.Remove(file.Name()) != nil {
		// Windows cannot remove an open file. Close removes it, unless the process is killed.
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
