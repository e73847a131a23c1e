package server

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"chatwright.dev/tray/server/hint"
)

// CheckAddr says whether addr, "host:port", is one that the companion may listen on: loopback, unless allowRemote. A
// listener that others can reach would hand them the models, the databases and the metrics of this machine.
func CheckAddr(addr string, allowRemote bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return hint.With(fmt.Errorf("reading the address %q: want host:port", addr), "write it like "+DefaultAddr)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return hint.With(fmt.Errorf("reading the address %q: the port is not a number from 0 to 65535", addr), "write it like "+DefaultAddr)
	}
	if allowRemote || strings.EqualFold(host, "localhost") || loopbackIP(host) {
		return nil
	}
	return hint.With(fmt.Errorf("refusing to listen on %s: not a loopback address", addr),
		"listen on 127.0.0.1:"+port+", or open it to others on purpose with --allow-remote and --remote-token-file")
}

// checkListener is CheckAddr for a listener that exists: a name may have led anywhere.
func (s *Server) checkListener(addr net.Addr) error {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || s.remote || tcp.IP.IsLoopback() {
		return nil
	}
	return CheckAddr(tcp.String(), false)
}

func loopbackIP(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() && !addr.Is4In6() && addr.Zone() == ""
}

// MinRemoteToken is how many bytes a token must have that is all that stands between a network and this machine: 256
// bits, if they are random.
const MinRemoteToken = 32

func checkRemoteToken(token []byte) error {
	if token != nil && len(token) < MinRemoteToken {
		return hint.With(fmt.Errorf("the remote token is shorter than %d bytes", MinRemoteToken), "make one with: openssl rand -hex 32")
	}
	return nil
}
