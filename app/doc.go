// Package app is the companion as a process: what is made, in what order, what a click does, and how it all ends.
// Run is the whole of it; everything else here is one of its parts.
//
// # A tour
//
// A proxied call, from socket to menu label. The HTTP server (package server) passes the call to its proxy, which
// records it in the metrics store that Run made. [publisher] wakes, at most four times a second, and composes one
// protocol.Status from the parts (parts.go) and the store's snapshot. screen.go turns that status into a tray.State,
// renders it, and hands the view to the screen, which copies what differs. The call never waits for any of this.
//
// A click on "Open Studio". The screen reports a tray.Action; actions.go runs it on a goroutine of its own, so that the
// next click is heard; what fails becomes a notice in the menu. The same operations come in over the control socket.
//
// The life of the HTTP server. supervisor.go is a machine of phases: starting, running, blocked, external, stopped,
// failed. Each phase is one function that returns the next.
//
// The offline copy of Studio. studio.go serves the newest finished copy at once and looks for a newer one beside it.
//
// The way to the upstream. upstream.go asks it at start, after the machine slept and when somebody looks; every
// recorded call tells as well.
//
// The end. One context ends everything, in the order that Run states at its foot: the icon and our own event streams
// go at once, calls in flight get the grace, then the stores close and the lock drops. Closing Config.Abort skips what
// is left of the grace.
package app
