// Package deploy contains the files to run Switchback (compose file, image, reference configuration, alert rules) and
// the tests that keep those files, the programs and the runbook in docs/alerts.md in agreement. The package has no
// code for others.
package deploy
