package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
)

// Event is one feature event: what the record's key and content will be.
type Event struct {
	Key   string
	Value json.RawMessage // the Feature, byte for byte as it was read
}

// newEvent makes an event of one Feature. Its key is the feature's id, or the value of a property.
func newEvent(feature []byte, property string) (Event, error) {
	var head struct {
		Type       string                     `json:"type"`
		ID         json.RawMessage            `json:"id"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(feature, &head); err != nil {
		return Event{}, fmt.Errorf("not JSON: %w", err)
	}
	if head.Type != "Feature" {
		return Event{}, fmt.Errorf("type is %q, want \"Feature\"", head.Type)
	}
	name, value := "id", head.ID
	if property != "" {
		name, value = "property "+property, head.Properties[property]
	}
	key, err := keyOf(name, value)
	if err != nil {
		return Event{}, err
	}
	return Event{Key: key, Value: feature}, nil
}

// keyOf returns the text of an id. A number keeps its digits: 9007199254740993 is not ...992.
func keyOf(name string, id json.RawMessage) (string, error) {
	if len(id) == 0 || string(id) == "null" {
		return "", fmt.Errorf("the feature has no %s, so its record would have no key; name a property that tells features apart with -key", name)
	}
	if id[0] != '"' {
		if _, err := strconv.ParseFloat(string(id), 64); err != nil {
			return "", fmt.Errorf("the %s %s is neither a string nor a number", name, id)
		}
		return string(id), nil
	}
	var text string
	if err := json.Unmarshal(id, &text); err != nil {
		return "", fmt.Errorf("the %s: %w", name, err)
	}
	if text == "" {
		return "", fmt.Errorf("the %s is empty", name)
	}
	return text, nil
}

// readEvents yields the events of a FeatureCollection or of lines of Features, in order. It stops with the first
// error, which names the feature by its number.
func readEvents(r io.Reader, property string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		n := 0
		for feature, err := range readFeatures(r) {
			n++
			var e Event
			if err == nil {
				e, err = newEvent(feature, property)
			}
			if err != nil {
				yield(Event{}, fmt.Errorf("feature %d: %w; those before it are published; correct it and publish all again with the same keys (the consumer recognizes repetitions), or send every line as it is with -lines", n, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// unread counts the lines that are no features or have no key.
type unread struct {
	lines, of, first int
	why              error // of the first
}

// String returns the text for a person, or "" if there is no such line.
func (u *unread) String() string {
	if u.lines == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d lines are no features or have no key; the first, line %d: %v", u.lines, u.of, u.first, u.why)
}

// readLines yields an event for each line that is not blank, byte for byte without its line end, and counts those that are no features or
// have no key. Their key is the value that the line shows for the property, or else line-N and the beginning of the
// line's SHA-256. Without a key their records would be dead letters for the lack of it, which would hide what is wrong.
func readLines(r io.Reader, property string, count *unread) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		in := bufio.NewReader(r)
		for n := 1; ; n++ {
			line, err := in.ReadBytes('\n')
			if line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")); len(bytes.TrimSpace(line)) > 0 {
				count.of++
				e, faulty := newEvent(line, property)
				if faulty != nil {
					if count.lines++; count.lines == 1 {
						count.first, count.why = n, faulty
					}
					e = Event{Key: cmp.Or(shownKey(line, property), fmt.Sprintf("line-%d-%.4x", n, sha256.Sum256(line))), Value: line}
				}
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(Event{}, fmt.Errorf("line %d: %w", n, err))
				}
				return
			}
		}
	}
}

// shownKey returns the value that a broken line shows for a property: a text without escapes, or a number. It returns ""
// if there is none, or several.
func shownKey(line []byte, property string) string {
	if property == "" {
		return "" // "id" may be the name of a property, too
	}
	name, _ := json.Marshal(property) // a string can always be encoded
	found := regexp.MustCompile(regexp.QuoteMeta(string(name))+`\s*:\s*(?:"([^"\\]+)"|(-?[0-9.]+)\s*[,}])`).FindAllSubmatch(line, 2)
	if len(found) != 1 {
		return ""
	}
	return string(found[0][1]) + string(found[0][2])
}

// readFeatures yields the bytes of each Feature, whether they stand one after the other or in a FeatureCollection.
func readFeatures(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		values := json.NewDecoder(r)
		for {
			var value json.RawMessage
			if err := values.Decode(&value); err != nil {
				if !errors.Is(err, io.EOF) {
					yield(nil, err)
				}
				return
			}
			for _, feature := range featuresOf(value) {
				if !yield(feature, nil) {
					return
				}
			}
		}
	}
}

// featuresOf returns the members of a FeatureCollection, or the value itself.
func featuresOf(value json.RawMessage) []json.RawMessage {
	var collection struct {
		Type     string            `json:"type"`
		Features []json.RawMessage `json:"features"`
	}
	if err := json.Unmarshal(value, &collection); err == nil && collection.Type == "FeatureCollection" {
		return collection.Features
	}
	return []json.RawMessage{value}
}
