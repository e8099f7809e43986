package index

import (
	"database/sql"
	"slices"
)

// nameKind is what a name is one of. It is a closed list (see [nameKinds]).
type nameKind string

const (
	groupName    nameKind = "group" // a fingerprint
	pipelineName nameKind = "pipeline"
	runName      nameKind = "run"
)

// nameKinds lists every kind.
func nameKinds() []nameKind { return []nameKind{groupName, pipelineName, runName} }

// name is a name that blocks have a number for.
type name struct {
	kind nameKind
	text string
}

// numbers are the numbers of names in one DLQ, from 1 in each kind. They never change as long as
// the DLQ is in the index.
type numbers map[name]uint32

// number finds the numbers of names, and gives one to each that has none. The transaction holds
// the DLQ's lock.
func (t *tx) number(dlq int64, have numbers, wanted []name) error {
	for _, kind := range nameKinds() {
		missing := textsOf(kind, wanted, have)
		if len(missing) == 0 {
			continue
		}
		if err := t.numbered(dlq, kind, missing, have); err != nil {
			return err
		}
		missing = slices.DeleteFunc(missing, func(text string) bool { return have[name{kind, text}] > 0 })
		if err := t.enumerate(dlq, kind, missing, have); err != nil {
			return err
		}
	}
	return nil
}

// textsOf gives the texts of the names of one kind that have no number yet, each once.
func textsOf(kind nameKind, wanted []name, have numbers) []string {
	var texts []string
	for _, n := range wanted {
		if _, ok := have[n]; !ok && n.kind == kind {
			texts = append(texts, n.text)
		}
	}
	return unique(texts)
}

// numbered adds the numbers of the names that have one.
func (t *tx) numbered(dlq int64, kind nameKind, texts []string, to numbers) error {
	return chunked(texts, func(some []string) error {
		args := []any{dlq, string(kind)}
		for _, text := range some {
			args = append(args, text)
		}
		return t.found("SELECT name, number FROM @dead_letter_name WHERE dlq = ? AND kind = ? AND name IN "+placeholders(1, len(some)),
			func(rows *sql.Rows) error {
				n := name{kind: kind}
				var number uint32
				err := rows.Scan(&n.text, &number)
				to[n] = number
				return err
			}, args...)
	})
}

// enumerate gives numbers to names that have none.
func (t *tx) enumerate(dlq int64, kind nameKind, texts []string, to numbers) error {
	if len(texts) == 0 {
		return nil
	}
	var last uint32
	err := t.row("SELECT coalesce(max(number), 0) FROM @dead_letter_name WHERE dlq = ? AND kind = ?", dlq, string(kind)).Scan(&last)
	if err != nil {
		return err
	}
	rows := make([][]any, len(texts))
	for i, text := range texts {
		last++
		to[name{kind, text}] = last
		rows[i] = []any{dlq, string(kind), text, int64(last)}
	}
	_, err = t.rows("INSERT INTO @dead_letter_name (dlq, kind, name, number) VALUES ", rows, "")
	return err
}

// texts gives the names of one kind by their numbers.
func (t *tx) texts(dlq int64, kind nameKind) (map[uint32]string, error) {
	out := map[uint32]string{}
	err := t.found("SELECT number, name FROM @dead_letter_name WHERE dlq = ? AND kind = ?", func(rows *sql.Rows) error {
		var number uint32
		var text string
		err := rows.Scan(&number, &text)
		out[number] = text
		return err
	}, dlq, string(kind))
	return out, err
}
