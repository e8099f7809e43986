package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// filled repeats a line with a number in it until a file is as long as it may be.
func filled(before, format, behind string) string {
	var b strings.Builder
	b.WriteString(before)
	for i := 0; ; i++ {
		line := fmt.Sprintf(format, i)
		if b.Len()+len(line)+len(behind) > maxFileBytes {
			return b.String() + behind
		}
		b.WriteString(line)
	}
}

// S0-1: a hostile file of the largest size is refused. The first faults are listed, the others are counted.
func TestParse_S0_1_hostile_files_are_refused(t *testing.T) {
	for name, text := range map[string]string{
		"brackets":           strings.Repeat("[", maxFileBytes),
		"braces":             strings.Repeat("{a: ", maxFileBytes/4),
		"block lists":        strings.Repeat("- ", maxFileBytes/2-1) + "a",
		"many keys":          strings.Repeat("a: 1\n", maxFileBytes/5),
		"too long":           strings.Repeat("a: 1\n", maxFileBytes),
		"unknown keys":       filled("", "k%d: 1\n", ""),
		"shortest keys":      filled("", "%x:\n", ""),
		"unknown flow keys":  filled("{", "k%d: 1,", "}"),
		"below a mapping":    filled("pipeline:\n", "  k%d: 1\n", ""),
		"in a list":          filled("transform:\n  fields:\n", "    - {x%d: 1}\n", ""),
		"broken entries":     filled("transform:\n  fields:\n", "    - {name: f%d, type: strung}\n", ""),
		"doubled keys":       filled("", "a: 1 # %d\n", ""),
		"aliases":            filled("a: &a [x]\n", "k%d: *a\n", ""),
		"aliases of aliases": "a: &a [x,x,x,x,x,x,x,x,x]\n" + filled("", "k%[1]d: &a%[1]d [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", "")[:60000],
		"merge keys":         filled("a: &a {b: 1}\n", "k%d:\n  <<: *a\n", ""),
		"tags":               filled("", "k%d: !!str 1\n", ""),
		"one long key":       filled("", strings.Repeat("k", 60_000)+"%d: 1\n", ""),
		"long keys":          filled("", strings.Repeat("k", 1000)+"%d: 1\n", ""),
		"a key of dots":      strings.Repeat("a.", 32_000) + ": 1",
		"a list of words":    filled("kafka: {brokers: [", "a%d,", "]}"),
		"deep":               strings.Repeat("{a: ", 199) + "1" + strings.Repeat("}", 199),
		"a long text":        filled("pipeline: {id: ", "x%d", "}"),
		"large patterns":     filled("transform:\n  fields:\n", "    - {to: f%d, from: a, type: string, extract: '("+strings.Repeat("x", 900)+"){1000}'}\n", ""),
		"nested patterns":    filled("transform:\n  fields:\n", "    - {to: f%d, from: a, type: string, extract: '(((a{9}){9}){9})'}\n", ""),
		"wide patterns":      filled("transform:\n  fields:\n", "    - {to: f%d, from: a, type: string, extract: '("+strings.Repeat(`[\pL\pN]`, 100)+"){1000}'}\n", ""),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("p.yaml", []byte(text), nil)
			faults, ok := errors.AsType[*Faults](err)
			if !ok || len(faults.List) > maxFaults+1 || len(err.Error()) > 64<<10 {
				t.Errorf("%d faults in %d bytes", len(faults.List), len(err.Error()))
			}
			if n := len(faults.List); n > maxFaults && (!strings.Contains(faults.List[n-1].Message, "more faults are not listed") || faults.List[n-1].Fix == "") {
				t.Errorf("%+v", faults.List[n-1])
			}
		})
	}
}
