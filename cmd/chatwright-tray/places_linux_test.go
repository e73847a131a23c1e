package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"chatwright.dev/tray/app/tray/desktop/dbustest"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/studio/studiotest"
)

// The table of files in the README is all there is: a companion in a tray does everything that leaves files, as do the
// commands that ask it, and the system tells of each file and folder that they make, change, move or remove.
func TestFilesAreInTheDocumentedPlaces(t *testing.T) {
	t.Parallel()
	strace := servertest.Need(t, "strace", "strace")
	release := studiotest.NewRelease(t)
	release.Publish("0.4.1", studiotest.Studio("0.4.1"))
	bus := dbustest.StartBus(t)
	watcher, notifications := bus.StartWatcher(t), bus.StartNotifications(t, "actions")
	u := newUser(t, busEnv(bus.Address), "CHATWRIGHT_HOME=", "XDG_CURRENT_DESKTOP=XFCE", "XDG_CONFIG_DIRS=/nowhere",
		"CHATWRIGHT_SERVER_UI=true", "CHATWRIGHT_SERVER_UI_URL="+release.URL, "CHATWRIGHT_SERVER_ADDR="+freeAddr(t))
	u.env = append(u.env, "XDG_RUNTIME_DIR="+filepath.Join(u.home, "run"), "XDG_STATE_HOME="+filepath.Join(u.home, "state"),
		"XDG_CONFIG_HOME="+filepath.Join(u.home, "config"), "XDG_CACHE_HOME="+filepath.Join(u.home, "cache"))
	if err := os.Mkdir(filepath.Join(u.home, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	w := witness{user: u, strace: strace, folder: t.TempDir()}

	tray := w.command("--capture=disk")
	if err := tray.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = tray.Wait() }()
	t.Cleanup(func() { _ = syscall.Kill(-tray.Process.Pid, syscall.SIGKILL); <-ended })
	item := watcher.Item(t, patience)
	item.AwaitLabel(t, patience, "Studio 0.4.1 (offline copy)")
	item.Click(t, "Start at login")
	var now protocol.Status
	if err := json.Unmarshal([]byte(w.must("status", "--json")), &now); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post("http://"+now.Addr+"/v1/chat/completions", "application/json", strings.NewReader(aCall))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	item.AwaitLabel(t, patience, "1 call*")
	session := regexp.MustCompile(`"session":"([^"]+)"`).FindStringSubmatch(w.must("session", "new", "."))
	if session == nil {
		t.Fatal("no session")
	}
	w.must("session", "send", session[1], "Hello")
	w.must("upstream", "add", "down", "http://"+freeAddr(t)+"/v1")
	w.must("upstream", "use", "down")
	notifications.Next(t, patience)
	w.must("studio", "update")
	w.must("doctor", "--headless", "--json")
	w.must("calls", "--since", "1h")
	if err := syscall.Kill(now.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the companion does not end")
	}
	w.judge(t)
}

// A witness sees which files a user's commands touch.
type witness struct {
	*user
	strace, folder string
}

func (w witness) command(args ...string) *exec.Cmd {
	w.t.Helper()
	file, err := os.CreateTemp(w.folder, "seen")
	if err != nil {
		w.t.Fatal(err)
	}
	_ = file.Close()
	plain := w.user.command(args...)
	const calls = "trace=open,openat,openat2,creat,mkdir,mkdirat,mknod,mknodat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,rmdir,bind,truncate"
	cmd := exec.Command(w.strace, append([]string{"-f", "-y", "-qq", "-s", "4096", "-e", calls, "-o", file.Name(), plain.Path}, args...)...)
	cmd.Env, cmd.Dir = plain.Env, plain.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that both can be killed
	return cmd
}

// must runs a command that is to do its work and returns what it printed.
func (w witness) must(args ...string) string {
	w.t.Helper()
	out, err := w.command(args...).Output()
	if exit, failed := err.(*exec.ExitError); failed && args[0] != "doctor" { // which finds what is down
		w.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, exit.Stderr)
	}
	return string(out)
}

// judge compares what was seen with the table in the README.
func (w witness) judge(t *testing.T) {
	t.Helper()
	in := func(parts ...string) string { return filepath.Join(append([]string{w.home}, parts...)...) }
	places := []string{
		in("cache", "chatwright", "ui") + "/", in("state", "chatwright") + "/", in("run", "chatwright") + "/",
		in("config", "autostart", "dev.chatwright.tray.desktop"),
		"/dev/", "/proc/",
	}
	tries := regexp.MustCompile(`/\.chatwright-\d+\.tmp$`) // with which doctor finds out whether a folder can be written
	var all []string
	for _, path := range w.touched(t) {
		all = append(all, path)
		documented := slices.ContainsFunc(places, func(place string) bool {
			return strings.HasPrefix(path, place) || strings.HasPrefix(place, path+"/") // or on the way to it
		})
		_, err := os.Lstat(path)
		if !documented && (err == nil || !tries.MatchString(path)) {
			t.Errorf("no documented place: %s", path)
		}
	}
	for _, want := range []string{
		`/cache/chatwright/ui/0\.4\.1`, `/state/chatwright/history\.db`, `/state/chatwright/sessions/.*\.jsonl`, `/state/chatwright/capture/`,
		`/state/chatwright/upstreams\.json`, `/state/chatwright/server\.log`, `/run/chatwright/control\.sock`, `/config/autostart/dev\.chatwright\.tray\.desktop`,
	} {
		if !slices.ContainsFunc(all, regexp.MustCompile(want).MatchString) {
			t.Errorf("nothing was seen at %s", want)
		}
	}
}

var (
	pathInCall = regexp.MustCompile(`(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"`)
	opens      = regexp.MustCompile(`\b(?:open|openat|openat2)\(`)
	writes     = regexp.MustCompile(`O_WRONLY|O_RDWR|O_CREAT|O_TRUNC`)
)

// touched are the paths that were made, changed, moved or removed, each once.
func (w witness) touched(t *testing.T) (paths []string) {
	t.Helper()
	seen := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(w.folder, "seen*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			failed := strings.Contains(line, " = -1 ")
			onNetwork := strings.Contains(line, "bind(") && !strings.Contains(line, `sun_path="`)
			if failed || onNetwork || opens.MatchString(line) && !writes.MatchString(line) {
				continue
			}
			for _, match := range pathInCall.FindAllStringSubmatch(line, -1) {
				path := match[2]
				if !filepath.IsAbs(path) {
					folder := match[1]
					if folder == "" {
						folder = w.home // where the commands run
					}
					path = filepath.Join(folder, path)
				}
				if !seen[path] {
					seen[path] = true
					paths = append(paths, path)
				}
			}
		}
	}
	slices.Sort(paths)
	return paths
}
