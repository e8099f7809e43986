package config

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxTopicName is Kafka's limit for the name of a topic.
const maxTopicName = 249

// isTopicText reports whether text has only characters that Kafka allows in the name of a topic.
func isTopicText(text string) bool {
	return text != "" && strings.IndexFunc(text, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && r != '.' && r != '_' && r != '-'
	}) < 0
}

// topicProblem says what is wrong with the name of a topic, or "".
func topicProblem(name string) (problem, fix string) {
	switch {
	case !isTopicText(name):
		return show(name) + " has a character that Kafka allows in no topic name", "use letters, digits, dot, underscore and hyphen"
	case name == "." || name == "..":
		return show(name) + " is no topic name", "write a name"
	case utf8.RuneCountInString(name) > maxTopicName:
		return fmt.Sprintf("the topic name %s has %d characters, and Kafka allows %d", show(name), len(name), maxTopicName), "shorten it"
	}
	return "", ""
}

// topicNames checks every topic name once, at the key that it comes from.
func (c checker) topicNames() {
	const id = "pipeline.id"
	if c.byHand(id) && c.sound(id) && (!isTopicText(c.cfg.Pipeline.ID) || strings.Trim(c.cfg.Pipeline.ID, ".") == "") {
		c.fault(id, show(c.cfg.Pipeline.ID)+" cannot be part of a Kafka topic name", "use letters, digits, dot, underscore and hyphen")
	}
	for _, topic := range c.cfg.allTopics() {
		path := c.namedBy(topic.path)
		if problem, fix := topicProblem(topic.name); problem != "" && c.sound(path) {
			c.fault(path, problem, fix)
		}
	}
}

// namedBy gives the key that a topic name comes from: its own, or that of which it is derived.
func (c checker) namedBy(path string) string {
	for _, candidate := range []string{path, "source.topic", "pipeline.id"} {
		if c.byHand(candidate) {
			return candidate
		}
	}
	return "pipeline.id"
}

// distinctTopics refuses two uses of one topic. Kafka takes dot and underscore for the same in
// the names of its metrics and refuses to create two topics that differ in them only.
func (c checker) distinctTopics() {
	first := map[string]string{}
	const version = "source.version"
	if v := c.cfg.Source.Version; v != "" && c.sound(version) && (!strings.HasPrefix(v, "properties.") || v == "properties.") {
		c.fault(version, show(v)+" is no property", "write properties. and its name, as in properties.updated")
	}
	for _, topic := range c.cfg.allTopics() {
		path := c.namedBy(topic.path)
		if !c.sound(path) || !c.sound("pipeline.retry_policy") {
			continue
		}
		name := strings.ReplaceAll(topic.name, "_", ".")
		if before, taken := first[name]; taken {
			c.fault(topic.path, fmt.Sprintf("the topic %s is that of %s too", show(topic.name), before), "give it a name of its own")
			continue
		}
		first[name] = topic.path
	}
}
