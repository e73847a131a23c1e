package doctor

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

// reach: whether the upstream answers as a model server does.
func reach(ctx context.Context, cfg Config) []protocol.Check {
	state, detail := upstream.Probe(ctx, cfg.Upstream)
	what := cfg.Upstream.Name
	if detail != "" {
		what += ": " + detail
	}
	found := unknown(what)
	switch {
	case state == protocol.ReachOK && detail != "":
		found = warning(what, "most model servers have their API below /v1; --upstream http://localhost:1234/v1, for instance")
	case state == protocol.ReachOK:
		found = ok(what + " answers")
	case state == protocol.ReachLoading:
		found = warning(what, "wait for it; the first call would have to as well")
	case state == protocol.ReachDown:
		found = failed(what, "start your model server, or name another: --upstream URL, or --upstream demo")
	}
	return found.as("upstream", "Model server")
}

// fingerprint: whether the server is the one that its port suggests, and which others there are.
func fingerprint(ctx context.Context, cfg Config) []protocol.Check {
	const id, name = "servers", "Servers on this machine"
	found := cfg.Find(ctx)
	if len(found) == 0 {
		return ok("no model server was found on the usual ports").as(id, name)
	}
	var list, odd []string
	for _, s := range found {
		where, _ := url.Parse(s.BaseURL)
		list = append(list, s.Name+" ("+where.Host+")")
		if usual := upstream.UsuallyAt(where.Port()); usual != "" && !strings.Contains(usual, s.Name) && s.Kind != "openai" {
			odd = append(odd, fmt.Sprintf("at %s, the usual place of %s, answers %s", where.Host, usual, s.Name))
		}
	}
	if len(odd) > 0 {
		return warning(strings.Join(odd, "; "), "if you meant the other, move one of them to another port").as(id, name)
	}
	return ok(strings.Join(list, ", ")).as(id, name)
}

// families: which of the two loopback addresses a server at localhost listens on. Programs that try only one of them
// see another machine than we do.
func families(ctx context.Context, cfg Config) []protocol.Check {
	const id, name = "families", "IPv4 and IPv6"
	base := cfg.Upstream.BaseURL
	if cfg.Upstream.Demo || !strings.EqualFold(base.Hostname(), "localhost") {
		return skipped("the model server is not named by localhost").as(id, name)
	}
	number := base.Port()
	if number == "" {
		number = map[string]string{"http": "80", "https": "443"}[base.Scheme]
	}
	four, six := listens(ctx, net.JoinHostPort("127.0.0.1", number)), listens(ctx, net.JoinHostPort("::1", number))
	switch {
	case four && six:
		return ok("localhost:"+number+" answers on 127.0.0.1, which is tried first, and on ::1").as(id, name)
	case four:
		return ok("localhost:"+number+" answers on 127.0.0.1 only; both are tried").as(id, name)
	case six:
		return ok("localhost:"+number+" answers on ::1 only; both are tried").as(id, name)
	}
	return skipped("nobody listens on localhost:"+number).as(id, name)
}

// proxies: whether calls to the upstream go through a proxy of the environment.
func proxies(_ context.Context, cfg Config) []protocol.Check {
	const id, name = "proxy", "Proxy"
	var set []string
	for _, variable := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		if cfg.Getenv(variable) != "" {
			set = append(set, variable)
		}
	}
	if len(set) == 0 {
		return ok("none is set").as(id, name)
	}
	through := strings.Join(set, ", ")
	proxy, err := cfg.Upstream.Proxy()
	switch {
	case err != nil:
		return failed(through+": it is no URL", "set it to http://host:port, or unset it").as(id, name)
	case proxy == nil:
		return ok(through+" set, and not used for "+cfg.Upstream.Name).as(id, name)
	}
	return warning("calls to "+cfg.Upstream.Name+" go through the proxy "+proxy.Host+" ("+through+")",
		"if they should not, add the host to NO_PROXY").as(id, name)
}
