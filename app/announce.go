package app

import (
	"context"
	"os"

	"chatwright.dev/tray/app/instance"
	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/protocol"
)

// announce waits until the app answers and then says so: to other programs in daemon.json and the PID file, to the
// person through Config.Ready. When the address changes later, daemon.json follows.
func (a *app) announce(ctx context.Context) error {
	a.awaitCopy(ctx)
	said := ""
	for {
		status, changed := a.status.Watch()
		switch {
		case said == "" && status.Phase != protocol.PhaseStarting:
			if err := a.ready(status); err != nil {
				return err
			}
			said = status.Addr
		case said != "" && said != status.Addr:
			if err := a.writeDiscovery(status); err != nil { // the socket, which is what counts, is the same
				a.log.Warn("daemon.json names an old address", "err", err)
			}
			said = status.Addr
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

func (a *app) ready(status protocol.Status) error {
	if err := a.writeDiscovery(status); err != nil {
		return err
	}
	if err := server.WritePIDFile(a.cfg.Paths.PID, os.Getpid()); err != nil {
		return err
	}
	if a.cfg.Ready != nil {
		a.cfg.Ready(status)
	}
	return nil
}

func (a *app) writeDiscovery(status protocol.Status) error {
	return instance.WriteDiscovery(a.cfg.Paths.Discovery, protocol.Discovery{
		InstanceID: a.instanceID, PID: os.Getpid(), StartedAt: a.startedAt, Version: a.cfg.Version,
		Protocol: protocol.Version, Addr: status.Addr, Socket: a.control.Addr(),
		Args: settings.WithoutSecrets(a.cfg.Args), Dir: a.cfg.Dir,
	})
}

// withdraw takes back what announce said.
func (a *app) withdraw() {
	if err := instance.RemoveDiscovery(a.cfg.Paths.Discovery, a.instanceID); err != nil {
		a.log.Warn("removing daemon.json", "err", err)
	}
	if pid, err := server.ReadPIDFile(a.cfg.Paths.PID); err == nil && pid == os.Getpid() {
		_ = server.RemovePIDFile(a.cfg.Paths.PID)
	}
}
