// Package dbtest starts real database servers for tests: PostgreSQL and MariaDB, each in a private folder, reached
// over a socket in it, with durability switched off. A server is started by the first test that asks for a database
// and serves all tests of its binary.
//
//	var servers dbtest.Servers
//
//	func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }
//
//	func TestSomething(t *testing.T) {
//		dsn := servers.Postgres().Database(t) // skips with the apt line where PostgreSQL is missing
//		…
//	}
package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"chatwright.dev/tray/server/servertest"
)

// startTimeout is how long a server may take to answer: a loaded machine that also runs other tests.
const startTimeout = 2 * time.Minute

// Servers are the database servers of one test binary. The zero value is ready; nothing runs until it is asked for.
type Servers struct {
	postgres, mariadb Server
}

// Postgres is the PostgreSQL server.
func (s *Servers) Postgres() *Server {
	s.postgres.engine = postgres{}
	return &s.postgres
}

// MariaDB is the MariaDB server.
func (s *Servers) MariaDB() *Server {
	s.mariadb.engine = mariadb{}
	return &s.mariadb
}

// Run runs the tests, stops the servers and returns the exit code. Goroutines that are left over fail the run.
func (s *Servers) Run(m *testing.M) int {
	code := m.Run()
	err := errors.Join(s.postgres.stop(), s.mariadb.stop())
	if code == 0 {
		err = errors.Join(err, goleak.Find())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "after the tests:", err)
		return 1
	}
	return code
}

// An engine knows how one kind of server is installed, started and asked for a database.
type engine interface {
	name() string
	// find returns the programs that are needed, or skips the test.
	find(t testing.TB) (initialise, serve string)
	user() string
	initialise(program, folder string) []string
	serve(program, folder string) []string
	// admin opens the server as its superuser.
	admin(folder string) (*sql.DB, error)
	// statements make an empty database of that name.
	statements(database string) []string
	url(folder, database string) string
	// crash is the signal that ends the server without a goodbye, and all of its processes.
	crash() os.Signal
}

// Server is one database server.
type Server struct {
	engine engine

	mu        sync.Mutex // guards the fields below
	folder    string
	admin     *sql.DB
	process   *exec.Cmd
	ended     chan struct{} // closed when process has ended
	databases int
}

// Database makes an empty database and returns its URL, as a holder names it. The first call starts the server.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		s.startLocked(t)
	}
	s.databases++
	name := "test" + strconv.Itoa(s.databases)
	for _, statement := range s.engine.statements(name) {
		if _, err := s.admin.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("making a database: %v", err)
		}
	}
	return s.engine.url(s.folder, name)
}

// Kill ends the server without a goodbye, as a crash does.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.killLocked(); err != nil {
		t.Fatal(err)
	}
}

// Start starts the server again after Kill, with the data it had.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startLocked(t)
}

func (s *Server) startLocked(t testing.TB) {
	t.Helper()
	initialise, serve := s.engine.find(t)
	if s.folder == "" {
		if err := s.makeFolder(t, initialise); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.OpenFile(filepath.Join(s.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	// Not of the test's context: the server outlives the test that asks for it first.
	cmd := s.command(t, s.engine.serve(serve, s.folder))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	s.process, s.ended = cmd, ended
	if err := s.await(); err != nil {
		text, _ := os.ReadFile(log.Name())
		_ = s.stopLocked()
		t.Fatalf("starting %s: %v\n%s", s.engine.name(), err, text)
	}
}

// makeFolder makes the data of a new server, in a folder with a short path since a socket is going to be in it.
func (s *Server) makeFolder(t testing.TB, program string) error {
	folder, err := os.MkdirTemp("", "cw")
	if err != nil {
		return err
	}
	s.folder = folder
	if os.Geteuid() == 0 {
		uid, gid, err := ids(s.engine.user())
		if err != nil {
			return err
		}
		if err := os.Chown(folder, uid, gid); err != nil {
			return err
		}
	}
	if out, err := s.command(t, s.engine.initialise(program, folder)).CombinedOutput(); err != nil {
		return fmt.Errorf("initialising %s: %w\n%s", s.engine.name(), err, out)
	}
	return nil
}

// command runs a program that ends when this process does, even when that is killed. The servers refuse to run as root,
// so that root runs them as the user that their package made.
func (s *Server) command(t testing.TB, args []string) *exec.Cmd {
	t.Helper()
	setpriv := servertest.Need(t, "setpriv", "util-linux")
	as := []string{"--pdeathsig=KILL"}
	if os.Geteuid() == 0 {
		as = append(as, "--reuid="+s.engine.user(), "--regid="+s.engine.user(), "--clear-groups")
	}
	cmd := exec.Command(setpriv, append(append(as, "--"), args...)...)
	cmd.Dir = s.folder
	return cmd
}

func ids(name string) (uid, gid int, err error) {
	account, err := user.Lookup(name)
	if err != nil {
		return 0, 0, err
	}
	uid, err = strconv.Atoi(account.Uid)
	if err != nil {
		return 0, 0, err
	}
	gid, err = strconv.Atoi(account.Gid)
	return uid, gid, err
}

// await asks the new server until it answers.
func (s *Server) await() error {
	if s.admin == nil {
		admin, err := s.engine.admin(s.folder)
		if err != nil {
			return err
		}
		admin.SetMaxIdleConns(0) // a connection that is kept is a goroutine that is left over
		s.admin = admin
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := s.admin.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-s.ended:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return err
		}
	}
}

// killLocked ends the server and its own processes in the quickest way there is.
func (s *Server) killLocked() error {
	if s.process == nil {
		return nil
	}
	if err := s.process.Process.Signal(s.engine.crash()); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.ended:
	case <-time.After(startTimeout):
		return fmt.Errorf("%s does not end", s.engine.name())
	}
	s.process = nil
	return nil
}

func (s *Server) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopLocked()
}

func (s *Server) stopLocked() error {
	var errs []error
	if s.admin != nil {
		errs = append(errs, s.admin.Close())
	}
	errs = append(errs, s.killLocked()) // the data is not wanted any more
	if s.folder != "" {
		errs = append(errs, os.RemoveAll(s.folder))
	}
	s.admin, s.folder = nil, ""
	return errors.Join(errs...)
}
