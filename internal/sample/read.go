package sample

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/switchback-geo/switchback/internal/jsontexts"
	"github.com/switchback-geo/switchback/pkg/transform"
)

// Bounds of what is read.
const (
	MaxFeatures = 1000
	MaxBytes    = 64 << 20 // of the input, decompressed
)

// ErrNoFeature means that an input has no feature.
var ErrNoFeature = errors.New("no feature: it reads GeoJSON features, one a line or otherwise one after another, or a FeatureCollection")

// Read reads the first [MaxFeatures] features of an input in the forms of [jsontexts]: features, or FeatureCollections.
// It skips and counts unreadable texts. It stops after [MaxBytes] and returns what it has read. The error is a read
// error, or says why there is no feature.
func Read(ctx context.Context, in io.Reader) (*Sample, error) {
	s := newSample()
	r := jsontexts.New(in, MaxBytes)
	for left := MaxBytes; s.Features < MaxFeatures && left > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		text, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", r.Line(), err)
		}
		left -= len(text.Bytes) + text.TooLong
		s.text(text)
	}
	switch {
	case s.Features > 0:
		return s, nil
	case s.FirstSkipped != nil:
		return nil, s.FirstSkipped
	}
	return nil, ErrNoFeature
}

// skip counts an unreadable text.
func (s *Sample) skip(line int, err error) {
	if s.Skipped++; s.FirstSkipped == nil {
		s.FirstSkipped = fmt.Errorf("line %d: %w", line, err)
	}
}

// text reads one text: a feature, or a collection of them.
func (s *Sample) text(text jsontexts.Text) {
	if text.TooLong > 0 {
		s.skip(text.Line, fmt.Errorf("the text has %d bytes, more than %d", text.TooLong, MaxBytes))
		return
	}
	d := json.NewDecoder(bytes.NewReader(text.Bytes))
	at := func() int { return text.Line + bytes.Count(text.Bytes[:d.InputOffset()], []byte{'\n'}) }
	if err := s.object(d, text.Bytes, at); err != nil {
		line := at()
		if syntax, is := errors.AsType[*json.SyntaxError](err); is {
			offset := min(max(syntax.Offset-1, 0), int64(len(text.Bytes)))
			line = text.Line + bytes.Count(text.Bytes[:offset], []byte{'\n'})
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		s.skip(line, err)
		return
	}
}

// object reads an object.
func (s *Sample) object(d *json.Decoder, whole []byte, at func() int) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if token != json.Delim('{') {
		return fmt.Errorf("%v is no object: %w", token, ErrNoFeature)
	}
	collection, crs := false, json.RawMessage(nil)
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if name == "features" {
			collection = true
			s.collections++
			if err := s.collection(d, at); err != nil {
				return err
			}
			if s.Features == MaxFeatures {
				return nil // the rest of the document is not read
			}
			continue
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if name == "crs" {
			crs = value
		}
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return err
	}
	if len(bytes.TrimSpace(whole[d.InputOffset():])) > 0 {
		return errors.New("there is something behind the JSON text")
	}
	s.system(crs)
	if collection {
		return nil
	}
	return s.feature(whole)
}

// collection reads the features of a FeatureCollection, and counts members that are not features.
func (s *Sample) collection(d *json.Decoder, at func() int) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if token != json.Delim('[') {
		return errors.New("the member features is no array")
	}
	for d.More() && s.Features < MaxFeatures {
		var text json.RawMessage
		if err := d.Decode(&text); err != nil {
			return err
		}
		if err := s.feature(text); err != nil {
			s.skip(at(), err)
		}
	}
	if s.Features == MaxFeatures {
		return nil
	}
	_, err = d.Token()
	return err
}

// feature adds one feature, read as strictly as the pipeline reads it.
func (s *Sample) feature(text []byte) error {
	v, err := transform.ParseValue(text)
	if err != nil {
		return err
	}
	kind, _ := v.Member("type")
	if v.Kind() != transform.KindObject || kind.Text() != "Feature" {
		return fmt.Errorf("an object of type %q is no Feature: %w", kind.Text(), ErrNoFeature)
	}
	s.Texts = append(s.Texts, text)
	s.add(v)
	return nil
}
