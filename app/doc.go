// Package app is the companion as a process: what is made, in what order, what a click does, and how it all ends.
// Run is the whole of it; everything else here is one of its parts.
//
// # A tour
//
// The start. Run (app.go) makes the folders, takes the lock of package instance, opens the log and the control socket,
// and hands over to live, which runs the parts that newApp (wiring.go) made. Once the server answers, announce writes
// daemon.json and the PID file. A second launch finds the lock held and asks the first to open Studio: package instance
// finds it, HandOver asks it.
//
// A proxied call, from socket to menu label. The HTTP server (package server) passes the call to its proxy, which
// records it in the metrics store that newApp made. The publisher wakes, at most four times a second, and composes one
// protocol.Status from the parts (parts.go) and the store's snapshot. screen.go turns that status into a tray.State,
// renders it, and hands the view to the screen, which copies what differs. The call never waits for any of this.
//
// The same call goes to the history (package history), which writes it to a file about a second later; history.go shows
// how that is going.
//
// A click on "Open Studio". The screen reports a tray.Action; actions.go runs it on a goroutine of its own, so that the
// next click is heard; what fails becomes a notice in the menu. The same operations come in over the control socket.
//
// The life of the HTTP server. supervisor.go is a machine of phases: starting, running, blocked, external, stopped,
// failed. Each phase is one function that returns the next. Who holds an address that is taken, and what another
// companion measures there, is asked in holder.go.
//
// The offline copy of Studio. The librarian (librarian.go) has the keeper of package studio serve what is on disk at
// once, decides when to look for a newer one, and tells how that went; studio.go makes it and switches what is served.
// Clicks (studioclicks.go) and the control socket both ask the librarian.
//
// The way to the upstream. upstream.go asks it at start, after the machine slept and when somebody looks; every
// recorded call tells as well. memory.go keeps when each upstream last answered.
//
// Which upstream. choice.go holds the configured one, the demo model and the named ones (named.go), and which of them
// is in use.
//
// A turn of a session. Package session asks its Model, which is turns.go: it finds the upstream by name and goes through
// a proxy of the app's own (the engine), made like the server's and with the same books. sessions.go holds the rest.
//
// Calls that ended. app.record (wiring.go) is told of each on the call's own goroutine and hands out copies: to the
// history, to telemeter.go, which exports them where a collector is named, and to speed.go, which notices a model that
// has become slower than it usually is.
//
// The console. A consoleDesk (console.go) answers what the page asks and does what is clicked there; examine.go has the
// doctor look at this machine, for the page and for the command. What is said in calls goes, while the user wants it, to
// the store of package capture, which stands between the proxies and the transports of the upstreams.
//
// New settings. Package settings reads flags, environment and tray.toml; at a hangup reload (wiring.go) reads them
// again and restarts the server if it would be another.
//
// The end. One context ends everything, in the order that live states: the icon and our own event streams go at once,
// calls in flight get the grace, the last of them are exported, daemon.json and the PID file go, then the control
// socket, and last the lock. Closing Config.Abort skips what is left of the grace.
package app
