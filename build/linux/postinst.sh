#!/bin/sh
# Nothing is started and nothing is switched on. After an upgrade, those who run the companion as a service get the new
# one, in the way of this system; a companion in somebody's tray goes on until its user restarts it.
set -e
if [ "$1" = configure ] && [ -n "$2" ] && [ -d /run/systemd/system ] && command -v deb-systemd-invoke >/dev/null; then
	deb-systemd-invoke --user restart chatwright-tray.service >/dev/null 2>&1 || true
fi
