package doctor

import (
	"net"
	"testing"

	"chatwright.dev/tray/server/protocol"
)

// A warning is something to be done about; a fix is what.
func TestNameOfStudio(t *testing.T) {
	for name, c := range map[string]struct {
		leads []string
		want  protocol.Check
	}{
		"unknown here": {nil, protocol.Check{State: protocol.CheckOK, Detail: "this machine does not know chatwright.localhost, though browsers do; Studio is opened at 127.0.0.1"}},
		"ours":         {[]string{"127.0.0.1", "::1"}, protocol.Check{State: protocol.CheckOK, Detail: "chatwright.localhost leads to this machine"}},
		"another machine": {[]string{"127.0.0.1", "192.0.2.7"}, protocol.Check{
			State: protocol.CheckWarning, Detail: "chatwright.localhost leads to 192.0.2.7, which is another machine; Studio is opened at 127.0.0.1",
			Fix: "look for the name in the hosts file and in your DNS",
		}},
	} {
		var ips []net.IPAddr
		for _, ip := range c.leads {
			ips = append(ips, net.IPAddr{IP: net.ParseIP(ip)})
		}
		c.want.ID, c.want.Name = "name", "Name of Studio"
		if got := findName(ips).as("name", "Name of Studio")[0]; got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
