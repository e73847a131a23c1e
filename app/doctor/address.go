package doctor

import (
	"context"
	"fmt"
	"net"

	"chatwright.dev/tray/server/protocol"
)

// port: who has the address that we serve, or want to.
func port(ctx context.Context, cfg Config) []protocol.Check {
	return findPort(ctx, cfg).as("port", "Address")
}

func findPort(ctx context.Context, cfg Config) finding {
	if cfg.Holder == nil {
		return skipped("not looked at")
	}
	program, companion := cfg.Holder(ctx, cfg.Addr)
	switch {
	case cfg.Running && companion:
		return ok(cfg.Addr + " is served")
	case cfg.Running && program == "":
		return failed("the companion runs, but nobody serves "+cfg.Addr, "start the server: chatwright-tray start")
	case companion:
		return warning("another Chatwright server has "+cfg.Addr, "end it, or choose another port: --addr 127.0.0.1:4320")
	case program != "":
		return failed(cfg.Addr+" is held by "+program, "end that program, or choose another port: --addr 127.0.0.1:4320")
	}
	return ok(cfg.Addr + " is free; no companion runs")
}

// nameOfStudio is what Studio is best opened under.
const nameOfStudio = "chatwright.localhost"

// names: whether this machine knows that name.
func names(ctx context.Context, _ Config) []protocol.Check {
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, nameOfStudio)
	if err != nil {
		ips = nil
	}
	return findName(ips).as("name", "Name of Studio")
}

func findName(ips []net.IPAddr) finding {
	for _, ip := range ips {
		if !ip.IP.IsLoopback() {
			return warning(fmt.Sprintf("%s leads to %s, which is another machine; Studio is opened at 127.0.0.1", nameOfStudio, ip.String()),
				"look for the name in the hosts file and in your DNS")
		}
	}
	if len(ips) == 0 { // no warning: there is nothing to be done
		return ok("this machine does not know " + nameOfStudio + ", though browsers do; Studio is opened at 127.0.0.1")
	}
	return ok(nameOfStudio + " leads to this machine")
}

// otherFamily: whether somebody else has our port in the other family, so that a page which calls localhost gets them.
func otherFamily(ctx context.Context, cfg Config) []protocol.Check {
	const id, name = "localhost", "localhost"
	host, number, err := net.SplitHostPort(cfg.Addr)
	ip := net.ParseIP(host)
	if err != nil || ip == nil || !ip.IsLoopback() {
		return skipped("the address is not one of loopback").as(id, name)
	}
	other := "::1"
	if ip.To4() == nil {
		other = "127.0.0.1"
	}
	address := net.JoinHostPort(other, number)
	if !listens(ctx, address) {
		return ok("callers of localhost:"+number+" reach "+cfg.Addr).as(id, name)
	}
	return warning("somebody else listens on "+address+": callers of localhost:"+number+" may reach them instead",
		"have callers use "+cfg.Addr+", or choose another port").as(id, name)
}

func listens(ctx context.Context, address string) bool {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
