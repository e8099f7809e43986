package console

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/switchback-geo/switchback/pkg/retrytopics/header"
)

// passing puts dead letters that today's transform accepts.
func (o *operator) passing(letters int) {
	o.t.Helper()
	for i := range letters {
		r := letter(fmt.Sprintf("p-%d", i), i, func(c *header.Control) { c.ErrorCode, c.ErrorMessage = "timeout", "no answer" })
		r.Key, r.Value = []byte{byte('a' + i)}, fmt.Appendf(nil, `{"type":"Feature","id":"P-%d","geometry":{"type":"Point","coordinates":[1,2]},"properties":{}}`, i)
		o.put(r)
	}
}

// planned makes a dry run of all dead letters that died of a timeout, and returns the form that carries it out, and where it goes.
func (o *operator) planned(letters int, canary string) (to string, consent url.Values) {
	o.t.Helper()
	to, _ = o.follows("/dry-run", form(o.see("/change?verb=replay&code=timeout")))
	page := o.until(to, fmt.Sprintf(">Replay %d dead letters</button>", letters))
	return to, with(form(page), "reason", "it answers", "typed", fmt.Sprint(letters), "canary", canary)
}

// goesOn executes the rest of an operation.
func (o *operator) goesOn(job string, letters int) {
	o.t.Helper()
	to, _ := o.follows("/dry-run", form(o.see("/go-on/"+strings.TrimPrefix(job, "/replays/"))))
	page := o.until(to, fmt.Sprintf(">Replay %d dead letters</button>", letters))
	to, _ = o.follows(to, with(form(page), "reason", "it answers", "typed", fmt.Sprint(letters), "canary", "0"))
	o.until(to, ">done<")
}
