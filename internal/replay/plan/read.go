package plan

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/go-json-experiment/json"
)

// ErrPlan marks a file that is not a plan, or a plan that was damaged or changed. Match it with errors.Is.
var ErrPlan = errors.New("not a usable plan")

// ErrNewer marks a plan of a later version of this software. Match it with errors.Is.
var ErrNewer = errors.New("the plan was written by a newer version; upgrade this program")

// Limits of a line. A head can name many IDs.
const (
	maxLine   = 16 << 20
	maxLetter = 64 << 10
)

// Open reads and checks the plan in a file. The error wraps [ErrPlan] and names the line if the file is not an intact
// plan.
func Open(path string) (*Plan, error) {
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	p, err := newLines(file).plan()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p.open = func() (io.ReadCloser, error) { return open(path) }
	return p, nil
}

func open(path string) (io.ReadCloser, error) {
	file, err := os.Open(path) // #nosec G304 -- the operator names the file
	if err != nil {
		return nil, fmt.Errorf("open the plan: %w", err)
	}
	return file, nil
}

// lines reads a plan line by line and computes its checksum.
type lines struct {
	in    *bufio.Scanner
	n     int
	hash  hash.Hash
	order order
}

func newLines(r io.Reader) *lines {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 1<<16), maxLine)
	return &lines{in: in, hash: sha256.New()}
}

func (s *lines) fault(format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %w", ErrPlan, s.n, fmt.Errorf(format, args...))
}

// next returns the next line; ok is false after the last.
func (s *lines) next() (text []byte, ok bool, err error) {
	s.n++
	if s.in.Scan() {
		return s.in.Bytes(), true, nil
	}
	if err := s.in.Err(); err != nil {
		return nil, false, s.fault("%w", err)
	}
	return nil, false, nil
}

func (s *lines) add(text []byte) {
	s.hash.Write(text)
	s.hash.Write([]byte{'\n'})
}

// plan reads all lines.
func (s *lines) plan() (*Plan, error) {
	head, err := s.head()
	if err != nil {
		return nil, err
	}
	p := newPlan(head)
	for {
		l, end, err := s.letter()
		switch {
		case err != nil:
			return nil, err
		case l != nil:
			p.take(l)
			continue
		case end.End.Letters != p.Letters:
			return nil, s.fault("it has %d dead letters, but its last line says %d", p.Letters, end.End.Letters)
		}
		p.Checksum = "sha256:" + end.End.SHA256
		if _, more, err := s.next(); err != nil || more {
			return nil, cmp.Or(err, s.fault("the file continues after the end of the plan"))
		}
		return p, nil
	}
}

func (s *lines) head() (Head, error) {
	text, ok, err := s.next()
	if err != nil {
		return Head{}, err
	}
	if !ok {
		return Head{}, s.fault("the file is empty")
	}
	var probe struct {
		Kind    string `json:"kind"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(text, &probe); err != nil || probe.Kind != kind {
		return Head{}, s.fault("this is not the first line of a plan; replayer plan -f FILE writes a plan")
	}
	if probe.Version > version {
		return Head{}, s.fault("version %d, this program reads up to %d: %w", probe.Version, version, ErrNewer)
	}
	var h headLine
	if err := json.Unmarshal(text, &h, json.RejectUnknownMembers(true)); err != nil {
		return Head{}, s.fault("%w", err)
	}
	if h.Version != version || h.ID == "" || h.Pipeline == "" || h.Source == "" || h.DLQ == "" || h.MadeAt.IsZero() {
		return Head{}, s.fault("id, pipeline, source, dlq, made_at or the version is missing")
	}
	s.add(text)
	return h.Head, nil
}

// letter returns the next dead letter, or the end line.
func (s *lines) letter() (*Line, *endLine, error) {
	text, ok, err := s.next()
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, nil, s.fault("the plan is incomplete: its last line is missing")
	}
	if bytes.HasPrefix(text, []byte(`{"end":`)) {
		end, err := s.end(text)
		return nil, end, err
	}
	if len(text) > maxLetter {
		return nil, nil, s.fault("it has %d bytes; the maximum is %d", len(text), maxLetter)
	}
	l := new(Line)
	if err := json.Unmarshal(text, l, json.RejectUnknownMembers(true)); err != nil {
		return nil, nil, s.fault("%w", err)
	}
	if err := cmp.Or(l.check(), s.order.next(l)); err != nil {
		return nil, nil, s.fault("%w", err)
	}
	s.add(text)
	return l, nil, nil
}

func (s *lines) end(text []byte) (*endLine, error) {
	end := new(endLine)
	if err := json.Unmarshal(text, end, json.RejectUnknownMembers(true)); err != nil {
		return nil, s.fault("%w", err)
	}
	if sum := hex.EncodeToString(s.hash.Sum(nil)); sum != end.End.SHA256 {
		return nil, s.fault("the checksum does not match: the plan was changed or damaged after it was written; make a new one")
	}
	return end, nil
}
