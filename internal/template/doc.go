// Package template parses texts that name values of a feature in braces, such as {id} and {properties.name}. It also
// checks the resulting URLs. The configuration uses it to refuse invalid templates, and the remote steps fill the
// templates in.
//
// A path may contain text from an untrusted source. The package refuses such a path if a server, a proxy or a
// framework could resolve it to another location than the one written. RFC 3986 reserves the slash as a separator and
// makes %2F data. Not every server keeps the two apart. Some servers decode before they resolve dot segments
// (CVE-2021-41773), and some decode twice. Some treat a backslash as a slash, and some cut a segment at its semicolon
// (Tomcat). Some end a segment at a NUL, or normalize full-width letters. The package refuses a path if any of these
// readings contains a dot segment or a control character. It accepts slashes in values: identifiers contain slashes,
// and without dot segments a slash leads no higher in the tree. It does not check queries, because dots and slashes
// are data everywhere in a query.
package template
