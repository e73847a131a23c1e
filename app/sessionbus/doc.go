// Package sessionbus connects to the D-Bus session bus of the desktop, on systems that have one. Every part of the app
// that speaks D-Bus has a connection of its own: the tray's toolkit shares and closes the one that godbus hands out.
package sessionbus
