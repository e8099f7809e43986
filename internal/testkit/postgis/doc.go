// Package postgis gives tests a real PostgreSQL with PostGIS, and a database of their own in it.
//
// SWITCHBACK_TEST_POSTGIS_DSN names a server that is already there. Its user must be allowed to CREATE DATABASE and to
// CREATE EXTENSION postgis. .ci/run starts such a server with the program in the folder serve.
//
// Without it, the tests of one process share a server that the package starts from the installed packages (Debian:
// postgresql-N-postgis-3). The server and its folder are removed when the process has ended. PostgreSQL refuses to run
// as root; a test that does runs the server as the user postgres, or nobody.
//
// The databases are copies of a template in which PostGIS is created once per server.
//
// SWITCHBACK_TEST_POSTGIS=required makes a missing server a failure. Otherwise such a test is skipped with the reason.
// There is no stand-in: what a test claims about SQL or about PostGIS's verdicts it has seen from PostGIS.
//
// A test can stop, crash and restart a server of its own (Own) on its data and its address. The package installs nothing
// and downloads nothing.
package postgis
