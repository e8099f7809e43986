// Command engine measures pkg/retrytopics on one real broker: its events per second and processor time per event against
// a bare client's transactional loop of the same client library, the lateness of its retries, and what waiting records
// cost the healthy ones. Contenders are processes of this binary, run in turn; every output is read back and counted. It
// judges nothing: README.md says what to aim at and what came out. It needs Linux or another Unix for processor time.
package main
