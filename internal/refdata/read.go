package refdata

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// These constants limit a file.
const (
	maxKeys = 10_000_000
	maxLine = 1 << 20
)

// errTooMany is the error of a set with too many keys.
var errTooMany = fmt.Errorf("more than %d keys", maxKeys)

// read returns the keys of a file.
func read(file, column string) (keys map[string]struct{}, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if strings.HasSuffix(file, ".ndjson") {
		keys, err = readNDJSON(f, column)
	} else {
		keys, err = readCSV(f, column)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s: no key in %q; a set without keys would refuse every record", file, column)
	}
	return keys, nil
}

// readCSV reads RFC 4180 with a header line. Empty cells are not keys.
func readCSV(r io.Reader, column string) (map[string]struct{}, error) {
	buffered := bufio.NewReader(r)
	if mark, _ := buffered.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = buffered.Discard(3) // it was just seen
	}
	rows := csv.NewReader(buffered)
	rows.ReuseRecord = true
	header, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("header line: %w", err)
	}
	at := slices.Index(header, column)
	switch {
	case at < 0:
		return nil, fmt.Errorf("line 1: no column %q; there are %q", column, header)
	case slices.Contains(header[at+1:], column):
		return nil, fmt.Errorf("line 1: the column %q occurs twice", column)
	}
	keys := map[string]struct{}{}
	for {
		row, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF):
			return keys, nil
		case err != nil:
			return nil, err
		case row[at] == "":
			continue
		case len(keys) == maxKeys:
			return nil, errTooMany
		}
		keys[strings.Clone(row[at])] = struct{}{}
	}
}

// readNDJSON reads one JSON object per line. A key is a string, or a number as written. Null and the empty text are not
// keys.
func readNDJSON(r io.Reader, member string) (map[string]struct{}, error) {
	keys := map[string]struct{}{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	number := 1
	for ; lines.Scan(); number++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		key, err := keyOf(lines.Bytes(), member)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", number, err)
		case key == "":
			continue
		case len(keys) == maxKeys:
			return nil, errTooMany
		}
		keys[strings.Clone(key)] = struct{}{}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", number, err)
	}
	return keys, nil
}

// keyOf returns the key of one object.
func keyOf(line []byte, member string) (string, error) {
	object, err := transform.ParseValue(line)
	if err != nil {
		return "", err
	}
	if object.Kind() != transform.KindObject {
		return "", fmt.Errorf("it is a %s, not an object", object.Kind())
	}
	members := object.Members()
	at := slices.IndexFunc(members, func(m transform.Member) bool { return m.Name == member })
	if at < 0 {
		return "", fmt.Errorf("no member %q", member)
	}
	switch value := members[at].Value; value.Kind() {
	case transform.KindString, transform.KindNumber, transform.KindNull:
		return value.Text(), nil
	default:
		return "", fmt.Errorf("the member %q is a %s; a key is a string or a number", member, value.Kind())
	}
}
