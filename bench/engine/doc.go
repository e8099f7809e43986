// Command engine measures pkg/retrytopics on one real broker. It compares events per second and processor time per event
// with a bare transactional loop of the same client library, and measures the lateness of retries and the influence of
// waiting records on healthy ones. Contenders are processes of this binary that run in turn; every output is read and
// counted. The command only reports figures: README.md has targets and results. Measuring processor time needs Linux or
// another Unix.
package main
