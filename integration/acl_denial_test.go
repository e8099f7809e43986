package integration

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/switchback-geo/switchback/internal/acls"
	"github.com/switchback-geo/switchback/internal/testkit/eventually"
)

// denial matches an error that names the principal, the operation and the resource. Where Describe was lost with an operation that
// implies it, the cluster refuses that first.
func (w *ward) denial(p permission) *regexp.Regexp {
	name := regexp.QuoteMeta(p.grant.Name)
	if p.grant.Pattern == acls.Prefixed {
		name += `[^ :]*`
	}
	resource := map[acls.Resource]string{acls.Topic: "topic", acls.Group: "group", acls.TransactionalID: "transactional id"}[p.grant.Resource]
	operation := string(p.op)
	if p.op != acls.DescribeConfigs && p.op != acls.Create {
		operation = "(" + operation + "|Describe)"
	}
	return regexp.MustCompile(regexp.QuoteMeta(w.principal()) + " may not " + operation + " " + resource + " " + name + ":")
}

// wantDenial waits until the consumer has named the permission, in its log or its readiness.
func (d *deprived) wantDenial() {
	d.t.Helper()
	wanted := d.denial(d.perm)
	eventually.Until(d.ctx, d.t, "words that match "+wanted.String(), func() (bool, string) {
		log := d.process.Stderr.String()
		if found := served.FindStringSubmatch(log); found != nil && d.address == "" {
			if err := json.Unmarshal([]byte(found[1]), &d.address); err != nil {
				return false, err.Error()
			}
		}
		log = log[d.said:]
		if d.address != "" {
			_, body := d.get(d.address, "/readyz")
			log += body
		}
		return wanted.MatchString(log), log
	})
}

// The test watches a consumer without a permission for this period. In each such period the consumer may abort mostAborts
// transactions and write mostLines lines. A loop without pauses does so within milliseconds.
const (
	watched    = 2 * time.Second
	mostAborts = 50
	mostLines  = 200
)

// wantNoLoop wants that the consumer tries again with pauses. They begin with a quarter of a second and double.
func (d *deprived) wantNoLoop() {
	d.t.Helper()
	began := time.Now()
	eventually.Until(d.ctx, d.t, "some seconds without the permission", func() (bool, string) {
		return time.Since(began) >= watched, time.Since(began).String()
	})
	aborts, lines := d.aborts(d.address)-d.aborted, strings.Count(d.process.Stderr.String()[d.said:], "\n")
	periods := 1 + int(time.Since(d.since)/watched)
	if most := periods * mostAborts; aborts > most {
		d.t.Errorf("%d transactions were aborted, want at most %d", aborts, most)
	}
	if most := periods * mostLines; lines > most {
		d.t.Errorf("%d lines of log, want at most %d", lines, most)
	}
}
