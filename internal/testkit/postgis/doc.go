// Package postgis gives tests a real PostgreSQL with PostGIS, and a database of
// their own in it.
//
// SWITCHBACK_TEST_POSTGIS_DSN names a server that is already there; it has to
// allow CREATE DATABASE and CREATE EXTENSION postgis. Without it the package
// starts a cluster from the machine's installed packages (Debian:
// postgresql-N-postgis-3) in a folder that is gone afterwards. PostgreSQL refuses
// to run as root, so a test that does runs it as the user postgres, or nobody.
//
// SWITCHBACK_TEST_POSTGIS=required makes it a failure that no server can be had;
// otherwise such a test is skipped with the reason. There is no stand-in: what
// a test claims about SQL or about PostGIS's verdicts it has seen from PostGIS.
//
// A cluster that was started here can be stopped, crashed and started again on
// its data, on the same address. The package installs nothing and downloads
// nothing.
package postgis
