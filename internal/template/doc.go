// Package template reads texts in which braces name values of a feature, {id} and {properties.name}, and judges the URLs that come of
// them. The configuration refuses templates by it, and the remote steps fill them in.
//
// A path that holds text from somebody else is refused when a server, a proxy or a framework that decodes more than it should could be
// led to another place than the one that was written. RFC 3986 reserves the slash as separator and makes %2F data. Not every server keeps
// the two apart: some decode before they resolve dot segments (CVE-2021-41773), some decode twice, some take a backslash for a slash, cut
// a segment at its semicolon (Tomcat), end it at a NUL, or normalise full-width letters. A path is refused when any of these readings has
// a dot segment or a control character. A slash alone is not refused: identifiers have slashes, and without dot segments it leads no
// higher than its own place. Queries are not judged: dots and slashes are data everywhere in them.
package template
