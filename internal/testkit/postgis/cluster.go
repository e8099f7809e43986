package postgis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/switchback-geo/switchback/internal/testkit/proc"
	"github.com/switchback-geo/switchback/internal/testkit/testrun"
)

// superuser owns every cluster that is created here. It needs no password, because the server only listens on the
// loopback interface.
const superuser = "switchback"

// leashScript ends the server ($1) and removes its folder ($2) after the test process has ended without doing so.
// SIGQUIT lets the server free its shared memory.
const leashScript = `kill -QUIT "$1" 2>/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  kill -0 "$1" 2>/dev/null || break
  sleep 0.1
done
kill -9 "$1" 2>/dev/null
rm -rf -- "$2"`

// settings are the server's settings. Nothing is flushed to the disk, because a power cut also ends the tests.
const settings = `listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
full_page_writes = off
shared_buffers = 64MB
max_connections = 200
dynamic_shared_memory_type = mmap
timezone = 'UTC'
lc_messages = 'C'
`

// cluster is a folder with a PostgreSQL cluster, and its server process if one runs.
type cluster struct {
	dir, bin, addr string
	cred           *credential

	cmd    *osexec.Cmd // nil before the first start
	leash  *proc.Leash
	exited chan struct{} // closed when cmd has been reaped
}

// newCluster creates and formats a cluster's folder.
func newCluster(ctx context.Context) (*cluster, error) {
	bin, err := findBin()
	if err != nil {
		return nil, err
	}
	cred, err := unprivileged()
	if err != nil {
		return nil, err
	}
	addr, err := testrun.FreeAddress()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "switchback-postgis-")
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, bin: bin, addr: addr, cred: cred}
	if err := c.format(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return c, nil
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }
func (c *cluster) log() string  { return filepath.Join(c.dir, "postgres.log") }

// command returns one of PostgreSQL's programs, as a user that PostgreSQL accepts and in a folder that this user may
// enter.
func (c *cluster) command(ctx context.Context, program string, args ...string) *osexec.Cmd {
	cmd := osexec.CommandContext(ctx, filepath.Join(c.bin, program), args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	runAs(cmd, c.cred)
	return cmd
}

func (c *cluster) format(ctx context.Context) error {
	if err := own(c.dir, c.cred); err != nil {
		return fmt.Errorf("change the owner of %s to PostgreSQL's user: %w", c.dir, err)
	}
	initdb := c.command(ctx, "initdb", "-D", c.data(), "-U", superuser, "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	_, port, err := net.SplitHostPort(c.addr)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(settings + "port = " + port + "\n")
	return errors.Join(err, file.Close())
}

// start starts the server without waiting until it answers.
func (c *cluster) start() error {
	if c.running() {
		return fmt.Errorf("PostgreSQL, process %d, runs already", c.cmd.Process.Pid)
	}
	log, err := os.OpenFile(c.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own copy
	cmd := c.command(context.Background(), "postgres", "-D", c.data())
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	c.cmd, c.exited = cmd, exited
	c.leash, err = proc.NewLeashScript(leashScript, strconv.Itoa(cmd.Process.Pid), c.dir)
	return err
}

func (c *cluster) running() bool {
	if c.cmd == nil {
		return false
	}
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

// end sends the signal to the process and waits for its exit.
func (c *cluster) end(how signal) error {
	if c.cmd == nil {
		return nil
	}
	_ = c.cmd.Process.Signal(how) // an already exited process is fine
	var late error
	select {
	case <-c.exited:
	case <-time.After(testrun.Patient(20 * time.Second)):
		late = fmt.Errorf("PostgreSQL, process %d, does not end on %v", c.cmd.Process.Pid, how)
		_ = c.cmd.Process.Kill()
		<-c.exited
	}
	if c.leash != nil {
		c.leash.Release()
		c.leash = nil
	}
	return late
}

// close ends the server without flushing and removes the folder.
func (c *cluster) close() error { return errors.Join(c.end(immediateShutdown), os.RemoveAll(c.dir)) }

// output returns the last n bytes of the server's own log.
func (c *cluster) output(n int) string {
	text, err := os.ReadFile(c.log())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-n):])
}
