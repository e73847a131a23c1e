package server

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"chatwright.dev/tray/server/hint"
)

// CheckHost says whether host, "name" or "name:port", is one that Config.AllowedHosts may hold.
func CheckHost(host string) error {
	if _, _, ok := splitHost(host); !ok {
		return hint.With(fmt.Errorf("%.80q is not a host name", host), "write a name such as studio.lan, or studio.lan:4319")
	}
	return nil
}

// CheckOrigin says whether origin is one that Config.AllowedOrigins may hold. It is compared as a whole with what a
// browser sends, so with a path or a final slash it would never match. The error does not repeat it: a URL may hold a
// password.
func CheckOrigin(origin string) error {
	if !originShaped(origin) {
		return hint.With(errors.New("it is not an origin"), "write the page's scheme and host as the browser sends them: "+
			"https://studio.example.com, with the port if there is one, without a final slash")
	}
	return nil
}

// The parsers of Host and Origin are strict and know nothing of URLs: whatever they do not understand is a stranger.

// splitHost takes apart "name", "name:port" and "[v6]:port"; port is 0 when there is none. A v6 address keeps its
// brackets.
func splitHost(host string) (name string, port int, ok bool) {
	name = host
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		if end < 0 {
			return "", 0, false
		}
		name = host[:end+1]
	} else if colon := strings.IndexByte(host, ':'); colon >= 0 {
		name = host[:colon]
	}
	if rest := host[len(name):]; rest != "" {
		if rest[0] != ':' {
			return "", 0, false
		}
		if port, ok = parsePort(rest[1:]); !ok {
			return "", 0, false
		}
	}
	return name, port, validName(name)
}

// parsePort reads 1 to 65535 without leading zeros.
func parsePort(s string) (port int, ok bool) {
	if s == "" || len(s) > 5 || s[0] == '0' {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		port = port*10 + int(s[i]-'0')
	}
	return port, port <= 65535
}

// validName reports whether name is made of what host names and addresses are made of, in labels that are not empty;
// one dot may end it.
func validName(name string) bool {
	if strings.HasPrefix(name, "[") {
		addr, err := netip.ParseAddr(strings.Trim(name, "[]"))
		return err == nil && addr.Is6() && addr.Zone() == ""
	}
	last := byte('.')
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
		case c == '.' && last != '.':
		default:
			return false
		}
		last = c
	}
	return name != ""
}

// isOwnName reports whether a valid name means this machine and can be reached under it: loopback addresses,
// localhost, and the name under which Studio is served.
func isOwnName(name string) bool {
	name = strings.TrimSuffix(name, ".")
	return strings.EqualFold(name, "localhost") || strings.EqualFold(name, "chatwright.localhost") || isLoopbackName(name)
}

// isLocalName reports whether a valid name can only be this machine: browsers never ask the DNS for *.localhost.
func isLocalName(name string) bool {
	name = strings.TrimSuffix(name, ".")
	const suffix = ".localhost"
	return strings.EqualFold(name, "localhost") || isLoopbackName(name) ||
		len(name) > len(suffix) && strings.EqualFold(name[len(name)-len(suffix):], suffix)
}

// isLoopbackName reports whether name is a loopback address, a v6 one in brackets.
func isLoopbackName(name string) bool {
	if inner, v6 := strings.CutPrefix(name, "["); v6 {
		return loopbackIP(strings.TrimSuffix(inner, "]"))
	}
	return strings.HasPrefix(name, "127.") && loopbackIP(name)
}

// splitOrigin takes apart the origin of an http or https page as browsers write it: scheme://host with a port if it is
// not the scheme's own.
func splitOrigin(origin string) (scheme, name string, port int, ok bool) {
	scheme, host, found := strings.Cut(origin, "://")
	if !found || scheme != "http" && scheme != "https" {
		return "", "", 0, false
	}
	name, port, ok = splitHost(host)
	return scheme, name, port, ok
}

// originShaped reports whether s could be an Origin header at all. Extensions and apps have schemes of their own.
func originShaped(s string) bool {
	scheme, host, found := strings.Cut(s, "://")
	if !found || scheme == "" || host == "" || scheme != strings.ToLower(scheme) {
		return false
	}
	if scheme == "http" || scheme == "https" {
		_, _, ok := splitHost(host)
		return ok && host == strings.ToLower(host)
	}
	return !strings.ContainsAny(host, "/?#@* ")
}
