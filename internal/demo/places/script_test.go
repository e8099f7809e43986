package places

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"
)

func TestKinds_lists_every_constant(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "script.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []Kind
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Kind" {
			word, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, Kind(word))
		}
		return true
	})
	if !slices.Equal(declared, Kinds()) {
		t.Errorf("constants %q, Kinds() %q", declared, Kinds())
	}
}

var stormy = Script{
	Seed: 7, Unavailable: 0.04, TooMany: 0.01, Slow: 0.02, Stuck: 0.005,
	RetryAfter: 3 * time.Second, SlowFor: 300 * time.Millisecond, StuckFor: 4 * time.Second,
	OutageAfter: 3 * time.Second, OutageFor: 15 * time.Second,
}

func TestScript_outage_has_a_beginning_and_an_end(t *testing.T) {
	quiet := Script{OutageAfter: 3 * time.Second, OutageFor: 15 * time.Second}
	for _, c := range []struct {
		since time.Duration
		want  Kind
	}{
		{0, KindAnswer},
		{3*time.Second - 1, KindAnswer},
		{3 * time.Second, KindOutage},
		{18*time.Second - 1, KindOutage},
		{18 * time.Second, KindAnswer},
		{time.Hour, KindAnswer},
	} {
		got := quiet.Reply(Call{Key: "a", Number: 1, Since: c.since})
		if got.Kind != c.want {
			t.Errorf("%v after the first question: %s, want %s", c.since, got.Kind, c.want)
		}
		if wantStatus := map[Kind]int{KindAnswer: http.StatusOK, KindOutage: http.StatusServiceUnavailable}[c.want]; got.Status != wantStatus {
			t.Errorf("%v after the first question: status %d, want %d", c.since, got.Status, wantStatus)
		}
	}
}

func TestScript_zero_never_misbehaves(t *testing.T) {
	for n := range 1000 {
		if got := (Script{}).Reply(Call{Key: "a", Number: n}); got.Kind != KindAnswer || got.Delay != 0 {
			t.Fatalf("question %d: %+v", n, got)
		}
	}
}

func TestScript_is_the_same_story_every_time(t *testing.T) {
	want := map[Kind]int{}
	for round := range 2 {
		got := map[Kind]int{}
		for n := range 20_000 {
			got[stormy.Reply(Call{Key: fmt.Sprint("key-", n), Number: 1}).Kind]++
		}
		if round == 0 {
			want = got
			continue
		}
		for _, kind := range Kinds() {
			if got[kind] != want[kind] {
				t.Errorf("%s: %d, then %d", kind, want[kind], got[kind])
			}
		}
	}
	for kind, share := range map[Kind]float64{KindUnavailable: stormy.Unavailable, KindTooMany: stormy.TooMany, KindSlow: stormy.Slow, KindStuck: stormy.Stuck} {
		if got := float64(want[kind]) / 20_000; got < share*0.7 || got > share*1.3 {
			t.Errorf("%s: share %.4f, the script says %.4f", kind, got, share)
		}
	}
}

func TestScript_another_seed_is_another_story(t *testing.T) {
	other, differ := stormy, 0
	other.Seed++
	for n := range 1000 {
		c := Call{Key: fmt.Sprint("key-", n), Number: 1}
		if stormy.Reply(c) != other.Reply(c) {
			differ++
		}
	}
	if differ == 0 {
		t.Error("two seeds give the same 1000 replies")
	}
}

func TestScript_behaves_after_its_outage(t *testing.T) {
	bad := Script{Unavailable: 1, OutageAfter: time.Second, OutageFor: time.Second}
	for since, want := range map[time.Duration]Kind{0: KindUnavailable, time.Second: KindOutage, 2 * time.Second: KindAnswer, time.Hour: KindAnswer} {
		if got := bad.Reply(Call{Key: "a", Number: 1, Since: since}).Kind; got != want {
			t.Errorf("%v after the first question: %s, want %s", since, got, want)
		}
	}
}

func TestScript_replies_carry_what_the_script_says(t *testing.T) {
	for _, c := range []struct {
		script Script
		want   Reply
	}{
		{Script{Unavailable: 1}, Reply{Kind: KindUnavailable, Status: 503}},
		{Script{TooMany: 1, RetryAfter: 3 * time.Second}, Reply{Kind: KindTooMany, Status: 429, RetryAfter: 3 * time.Second}},
		{Script{Slow: 1, SlowFor: time.Second}, Reply{Kind: KindSlow, Status: 200, Delay: time.Second}},
		{Script{Stuck: 1, StuckFor: time.Minute}, Reply{Kind: KindStuck, Status: 200, Delay: time.Minute}},
	} {
		if got := c.script.Reply(Call{Key: "a", Number: 1}); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.script, got, c.want)
		}
	}
}
