package config

import (
	"reflect"
	"slices"
	"strings"
)

// unknown reports a key that t does not have.
func (d *decoder) unknown(path string, line, column int, name string, t reflect.Type) {
	if d.faults.full() {
		d.fault(path, line, column, "unknown key", "")
		return
	}
	var message, fix string
	switch {
	case parent(path) == "kafka.sasl" && isSecretName(name):
		message = "secrets are not allowed in the file"
		fix = "put the secret into an environment variable or a file, and name it with password_env or password_file"
	default:
		message, fix = "unknown key", d.hint(path, name, t)
	}
	d.fault(path, line, column, message, fix)
}

// hint returns a fix that names the key that the user probably meant.
func (d *decoder) hint(path, name string, t reflect.Type) string {
	siblings := namesOf(t)
	if near := Nearest(name, siblings); near != "" {
		return "did you mean " + near + "?"
	}
	if homes := homesOf(name, path); !d.foreign && len(homes) > 0 && len(homes) <= 2 {
		return "it belongs under " + strings.Join(homes, " or ")
	}
	return "remove it; known here: " + strings.Join(siblings, ", ")
}

// homesOf returns the mappings that have a key with this name, except the mapping of path.
func homesOf(name, path string) []string {
	var homes []string
	for _, p := range Paths() {
		inList := strings.Contains(p, "[") && !strings.Contains(path, "[") // keys of a list entry are no hint for keys outside of a list
		if home := parent(p); home != "" && home != parent(path) && p == home+"."+name && !inList {
			homes = append(homes, home)
		}
	}
	return homes
}

// isSecretName reports whether the name of a key suggests that it holds a secret.
func isSecretName(name string) bool {
	folded := fold(name)
	return slices.ContainsFunc([]string{"password", "passwd", "passphrase", "secret", "token", "credential"}, func(word string) bool {
		return strings.Contains(folded, word)
	})
}

// longestWord is larger than the length of every key and word. A longer name is not a misspelt word.
const longestWord = 64

// Nearest returns the word that name probably stands for, or "".
func Nearest(name string, words []string) string {
	if len(name) > longestWord {
		return ""
	}
	best, distance := "", 1+max(1, len(fold(name))/4)
	for _, word := range words {
		if d := editDistance(fold(name), fold(word)); d < distance {
			best, distance = word, d
		}
	}
	if best == "" {
		return onlyLonger(name, words)
	}
	return best
}

// shortest is the smallest length of a name that is compared with the beginnings of words.
const shortest = 4

// onlyLonger returns the only word that begins with name, such as coercion_failed for coercion. It returns "" if no word
// or several words match.
func onlyLonger(name string, words []string) (only string) {
	begin := fold(name)
	if len(begin) < shortest {
		return ""
	}
	for _, word := range words {
		if !strings.HasPrefix(fold(word), begin) {
			continue
		}
		if only != "" {
			return ""
		}
		only = word
	}
	return only
}

// fold removes differences in spelling: capitals, hyphens and underscores.
func fold(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// editDistance returns the number of letters to insert, delete, replace or swap with their neighbor (optimal string
// alignment).
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for j := range t {
		rows[0][j+1] = j + 1
	}
	for i := 1; i <= len(s); i++ {
		for j := 1; j <= len(t); j++ {
			change := 1
			if s[i-1] == t[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(s)][len(t)]
}
