package examples

import (
	"bufio"
	"bytes"
	_ "embed" // the data files
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/klauspost/compress/zstd"
)

var (
	//go:embed data/earthquakes.ndjson.zst
	earthquakes string
	//go:embed data/counties.ndjson.zst
	counties string
	//go:embed data/states.json
	states string
)

// Feature is one published GeoJSON Feature (RFC 7946, section 3.2).
type Feature struct {
	// ID is the feature's own id: USGS's event id ("ci37868143") or a county's five-digit FIPS code ("04015").
	ID string
	// JSON is the whole feature, without a line end.
	JSON []byte
}

// Earthquakes yields the 1,707 earthquakes in published order, newest first. Coordinates are
// longitude, latitude and depth in kilometres; properties.updated is the version, in milliseconds
// since 1970. The sequence ends with the first error, which only a damaged binary can give.
func Earthquakes() iter.Seq2[Feature, error] { return lines("earthquakes", earthquakes) }

// Counties yields the 3,231 counties in published order, as Polygon or MultiPolygon in longitude
// and latitude. Outer rings run clockwise, 40 counties are invalid, and rings of fewer than four
// positions occur. The sequence ends with the first error, which only a damaged binary can give.
func Counties() iter.Seq2[Feature, error] { return lines("counties", counties) }

// States returns the names of states and territories by the first two digits of a county's id.
func States() (map[string]string, error) {
	names := map[string]string{}
	if err := json.Unmarshal([]byte(states), &names); err != nil {
		return nil, fmt.Errorf("decode the embedded states: %w", err)
	}
	return names, nil
}

// lines yields the features of one compressed file.
func lines(name, packed string) iter.Seq2[Feature, error] {
	return func(yield func(Feature, error) bool) {
		dec, err := zstd.NewReader(strings.NewReader(packed), zstd.WithDecoderConcurrency(1))
		if err != nil {
			yield(Feature{}, fmt.Errorf("open the embedded %s: %w", name, err))
			return
		}
		defer dec.Close()
		in := bufio.NewReaderSize(dec, 1<<16)
		for n := 1; ; n++ {
			line, err := in.ReadBytes('\n')
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return
			}
			feature, err := parse(line, err)
			if err != nil {
				yield(Feature{}, fmt.Errorf("line %d of the embedded %s: %w", n, name, err))
				return
			}
			if !yield(feature, nil) {
				return
			}
		}
	}
}

// parse reads the id of one line. It takes the reader's error along, so that a truncated file is
// an error and not a shorter list.
func parse(line []byte, err error) (Feature, error) {
	if err != nil {
		return Feature{}, err
	}
	line = bytes.TrimRight(line, "\n")
	var head struct{ ID string }
	if err := json.Unmarshal(line, &head); err != nil {
		return Feature{}, err
	}
	return Feature{ID: head.ID, JSON: line}, nil
}
