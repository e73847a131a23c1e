#!/bin/sh
# What is removed does not go on running as a service.
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ] && command -v deb-systemd-invoke >/dev/null; then
	deb-systemd-invoke --user stop chatwright-tray.service >/dev/null 2>&1 || true
fi
