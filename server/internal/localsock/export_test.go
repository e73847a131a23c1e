//go:build linux || darwin || freebsd

package localsock

import "net"

// SetOwner makes ln believe that its owner is uid, so that our own connections are a stranger's.
func SetOwner(ln net.Listener, uid int) { ln.(*listener).uid = uid }

// MaxPath is how long a path may be.
const MaxPath = maxPath

// Pending is the name under which a socket is born.
const Pending = pending
