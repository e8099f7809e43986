package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (c checker) sqlLookup(path string, s *SQLLookup) {
	c.breaker(path, s.Breaker, s.Timeout, s.MaxConnections)
	c.dsn(path, s.DSNEnv, s.DSNFile)
	for i, arg := range s.Args {
		at := path + ".args[" + strconv.Itoa(i) + "]"
		if property, isProperty := strings.CutPrefix(arg, "properties."); c.sound(at) && arg != "id" && arg != "geometry" && (!isProperty || property == "") {
			c.fault(at, show(arg)+" names nothing of a feature", "write id, geometry or properties.name, without braces")
		}
	}
	if c.sound(path + ".query") {
		if message, fix := queryProblem(s.Query, len(s.Args)); message != "" {
			c.fault(path+".query", message, fix)
		}
	}
}

// dsn demands one place for a connection string.
func (c checker) dsn(path, variable, file string) {
	if !c.sound(path+".dsn_env", path+".dsn_file") {
		return
	}
	switch {
	case variable == "" && file == "":
		c.fault(path, "says not which database", "set dsn_env to the name of the variable that holds the connection string, or dsn_file to a file with it")
	case isConnectionString(file): // not shown: it has the password in it
		c.fault(path+".dsn_file", "is a connection string, and not the name of a file", "write the name of a file that holds it; it has a password, which must not be in the pipeline file")
	case variable != "" && file != "":
		c.fault(path+".dsn_file", "both dsn_env and dsn_file are set", "keep one of the two")
	}
	c.variableNames(path, map[string]string{"dsn_env": variable}, "dsn_env")
}

// isConnectionString reports whether text is what a file or a variable is to hold: a URL of PostgreSQL, or keywords with a
// password.
func isConnectionString(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://") || strings.Contains(text, "password=")
}

// parameter is a parameter of a query.
var parameter = regexp.MustCompile(`\$([0-9]+)`)

// queryProblem says what is wrong with a query that has so many arguments, or "".
func queryProblem(query string, args int) (message, fix string) {
	if strings.HasSuffix(strings.TrimSpace(query), ";") {
		return "ends with a semicolon", "write one select without it"
	}
	for _, brace := range []string{"{id}", "{properties.", "{geometry}"} {
		if strings.Contains(query, brace) {
			return "has " + brace + " in it, and values never go into the text of a query", "write $1 and list the value in args"
		}
	}
	var used []int
	for _, match := range parameter.FindAllStringSubmatch(query, -1) {
		n, err := strconv.Atoi(match[1])
		if err != nil || n < 1 || n > args {
			return fmt.Sprintf("has the parameter %s, and args has %d entries", match[0], args), "add the value to args, or correct the number"
		}
		used = append(used, n)
	}
	for n := 1; n <= args; n++ {
		if !slices.Contains(used, n) {
			return fmt.Sprintf("does not use $%d, which args lists", n), "use it, or remove the entry"
		}
	}
	return "", ""
}
