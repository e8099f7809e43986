package access

import (
	"strings"
	"testing"

	"github.com/switchback-geo/switchback/internal/testkit/expect"
	"github.com/switchback-geo/switchback/internal/testkit/must"
)

func TestParse_S4_6_says_what_is_wrong_and_where(t *testing.T) {
	const site, tls = "url: https://dlq.example.org\n", "tls: {cert_file: c.pem, key_file: k.pem}\n"
	const anna = "people: [{name: anna, role: replay, token_env: ANNA}]\n"
	const proxy = "proxy: {addresses: [10.0.0.7], user_header: X-User}\n"
	for _, c := range [][2]string{
		{"", "url: is mandatory"},
		{site + tls, "people: nobody may use the console"},
		{site + anna, "f.yaml:1:6: url: https needs a certificate"},
		{"url: http://dlq.example.org\n" + tls + anna, "unencrypted"},
		{"url: dlq.example.org\n" + tls + anna, "no address of a web server"},
		{"url: https://anna@dlq.example.org\n" + tls + anna, "no address of a web server"},
		{"url: HTTPS://DLQ.example.org\n" + tls + anna, "lower case"},
		{"url: https://dlq.example.org/console\n" + tls + anna, "has a path"},
		{site + "tls: {cert_file: c.pem}\n" + anna, "f.yaml:2:18: tls.cert_file: needs tls.key_file"},
		{site + "tls: {key_file: k.pem}\n" + anna, "tls.key_file: needs tls.cert_file"},
		{site + tls + "people: [{name: anna, role: admin, token_env: A}]\n", "f.yaml:3:29: people[0].role: "},
		{site + tls + "people: [{role: read, token_env: A}]\n", "people[0].name: is mandatory"},
		{site + tls + "people: [{name: anna, role: read}]\n", "people[0]: needs one of token_env and token_file"},
		{site + tls + "people: [{name: anna, role: read, token_env: A, token_file: f}]\n", "people[0]: needs one of"},
		{site + tls + "people: [{name: ' anna', role: read, token_env: A}]\n", "people[0].name: "},
		{site + tls + "people: [{name: \"an\\u202ena\", role: read, token_env: A}]\n", "people[0].name: "},
		{site + tls + "people: [{name: anna, role: read, token_env: A}, {name: anna, role: replay, token_env: B}]\n", "people[1].name: \"anna\" is listed twice"},
		{site + proxy + anna, "people[0]: has a token, and the proxy signs people in"},
		{site + proxy, "people: nobody may use the console"},
		{site + tls + anna + "proxy: {user_header: X-User}\n", "proxy: needs addresses"},
		{site + tls + anna + "proxy: {others: read}\n", "proxy: needs addresses"},
		{site + "proxy: {addresses: [proxy.example], user_header: X-User, others: read}\n", "proxy.addresses[0]: "},
		{site + "proxy: {addresses: [10.0.0.7, 0.0.0.0/0], user_header: X-User, others: read}\n", "proxy.addresses[1]: trusts everybody"},
		{site + "proxy: {addresses: [10.0.0.7], others: read}\n", "proxy.user_header: "},
		{site + "proxy: {addresses: [10.0.0.7], user_header: Cookie, others: read}\n", "proxy.user_header: "},
		{site + "proxy: {addresses: [10.0.0.7], user_header: 'X User', others: read}\n", "proxy.user_header: "},
		{site + tls + anna + "persons: []\n", "f.yaml:4:1: persons: "},
		{site + tls + anna + "mask: [/properties/owner, properties/phone]\n", "mask[1]: "},
		{site + tls + anna + "mask: ['']\n", "mask[0]: "},
		{site + tls + anna + "mask: [/properties//x]\n", "mask[0]: "},
		{site + tls + anna + "export: none\n", "export: none has no meaning"},
		{site + tls + anna + "export: admin\n", "f.yaml:4:9: export: "},
		{"url: [", "f.yaml:1:"},
	} {
		_, err := Parse("f.yaml", []byte(c[0]))
		if err == nil || !strings.Contains(err.Error(), c[1]) || strings.Contains(err.Error(), "pipeline") {
			t.Errorf("%s\nwant %q in %v", c[0], c[1], err)
		}
	}
}

func TestParse_S4_6_reads_who_may(t *testing.T) {
	a := must.Get(Parse("f.yaml", []byte("url: http://localhost:8480\npeople: [{name: anna, role: replay, token_env: ANNA}]\n")))(t)
	p := a.People[0]
	expect.That(t, a.URL == "http://localhost:8480" && p.Name == "anna" && p.Role == RoleReplay && p.TokenEnv == "ANNA" && !a.Proxy.Enabled() && a.Proxy.Others == RoleNone, "%+v", a)
	a = must.Get(Parse("f.yaml", []byte("url: https://d.example/\nproxy: {addresses: [10.0.0.7, 'fd00::/64'], user_header: X-User, others: read}\n")))(t)
	if p := a.Proxy; !p.Enabled() || p.UserHeader != "X-User" || p.Others != RoleRead {
		t.Errorf("%+v", a)
	}
}
