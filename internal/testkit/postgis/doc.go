// Package postgis provides a real PostgreSQL with PostGIS for tests, and a database for each test.
//
// SWITCHBACK_TEST_POSTGIS_DSN names an existing server. Its user must be allowed to CREATE DATABASE and to CREATE
// EXTENSION postgis. .ci/run starts such a server with the program in the folder serve.
//
// Without it, the tests of one process share a server that the package starts from the installed packages (Debian:
// postgresql-N-postgis-3). The server and its folder are removed when the process has ended. PostgreSQL refuses to run
// as root, so a test that runs as root runs the server as the user postgres, or nobody.
//
// The databases are copies of a template in which PostGIS is created once per server.
//
// With SWITCHBACK_TEST_POSTGIS=required, a missing server is a failure. Otherwise the test is skipped with the reason.
// There is no substitute for PostGIS.
//
// A test can stop, crash and restart its own server (Own) with the same data and address. The package installs and
// downloads nothing.
package postgis
