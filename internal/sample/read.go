package sample

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/switchback-geo/switchback/pkg/transform"
)

// Bounds of what is looked at.
const (
	MaxFeatures = 1000
	MaxBytes    = 64 << 20 // of the input
)

// ErrNoFeature says that an input holds no feature.
var ErrNoFeature = errors.New("no feature: it reads GeoJSON features, one a line or otherwise one after another, or a FeatureCollection")

// Read looks at the first [MaxFeatures] features of an input: features one after another, or a FeatureCollection, which is read as
// a stream, however large it is. Beyond [MaxBytes] it stops, with what it has seen by then.
func Read(ctx context.Context, in io.Reader) (*Sample, error) {
	s := newSample()
	bounded, err := newInput(in, MaxBytes)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bounded)
	for s.Features < MaxFeatures {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := s.document(d)
		if errors.Is(err, io.EOF) && s.Features == 0 {
			return nil, ErrNoFeature
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && s.Features > 0 && bounded.left == 0 {
			return s, nil // all of it, or as much as is looked at
		}
		if err != nil {
			return nil, fmt.Errorf("line %d, behind %d features: %w; correct it, or leave it out", bounded.line(d, err), s.Features, err)
		}
	}
	return s, nil
}

// document reads one object: a feature, or a collection of them. It is io.EOF where there is none, and io.ErrUnexpectedEOF within one.
func (s *Sample) document(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if err := s.object(d, token); !errors.Is(err, io.EOF) {
		return err
	}
	return io.ErrUnexpectedEOF
}

func (s *Sample) object(d *json.Decoder, token json.Token) error {
	if token != json.Delim('{') {
		return fmt.Errorf("%v is no object: %w", token, ErrNoFeature)
	}
	members, collection := map[string]json.RawMessage{}, false
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if name == "features" {
			collection = true
			s.collections++
			if err := s.collection(d); err != nil {
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
		members[fmt.Sprint(name)] = value
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return err
	}
	s.system(members["crs"])
	if collection {
		return nil
	}
	text, err := json.Marshal(members)
	if err != nil {
		return err
	}
	return s.feature(text)
}

// collection reads the features of a FeatureCollection.
func (s *Sample) collection(d *json.Decoder) error {
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
			return err
		}
	}
	if s.Features == MaxFeatures {
		return nil
	}
	_, err = d.Token()
	return err
}

// feature takes one feature, read as strictly as the pipeline reads it.
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
