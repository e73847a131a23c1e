#!/bin/bash
# A user installs the package, starts it from the menu, upgrades it while it runs, and removes it again:
#
#   install.sh PACKAGE NEWER-PACKAGE PANEL-CONFIG
#
# Runs in machine.sh. Prints a line for each thing that was seen, and "figure NAME MS" for what was measured.
set -u
package=$1 newer=$2 panel=$3
out() { printf '%s\n' "$*"; }
die() { out "FAIL: $*"; tail -n 20 /tmp/*.log; exit 1; }
until_ok() { local n=$1; shift; for ((i = 0; i < n; i++)); do "$@" >/dev/null 2>&1 && return; sleep 0.02; done; return 1; }
now() { date +%s%3N; }

# The user, who is not root, and his desktop.
export HOME=/tmp/home XDG_RUNTIME_DIR=/tmp/user
mkdir -p $HOME/.config/xfce4/xfconf/xfce-perchannel-xml $XDG_RUNTIME_DIR
cp "$panel" $HOME/.config/xfce4/xfconf/xfce-perchannel-xml/
chmod 700 $XDG_RUNTIME_DIR
chown -R 1000:1000 $HOME $XDG_RUNTIME_DIR
cd $HOME
for v in $(compgen -e); do case $v in CHATWRIGHT_* | XDG_*_HOME | OTEL_*) unset "$v" ;; esac; done
export GDK_BACKEND=x11 NO_AT_BRIDGE=1 DISPLAY=:7 DBUS_SESSION_BUS_ADDRESS=unix:path=$XDG_RUNTIME_DIR/bus
export CHATWRIGHT_SERVER_UPSTREAM=demo CHATWRIGHT_NO_BROWSER=1 PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
as_user() { setpriv --reuid 1000 --regid 1000 --clear-groups "$@"; }
as_user Xvfb :7 -screen 0 800x600x24 -nolisten tcp >/tmp/xvfb.log 2>&1 &
as_user dbus-daemon --session --nofork --nopidfile --address=$DBUS_SESSION_BUS_ADDRESS >/tmp/bus.log 2>&1 &
until_ok 500 test -S $XDG_RUNTIME_DIR/bus || die "no session bus"
until_ok 500 test -S /tmp/.X11-unix/X7 || die "no display"
as_user xfce4-panel --disable-wm-check >/tmp/panel.log 2>&1 &
watcher() { as_user gdbus call --session --dest org.kde.StatusNotifierWatcher --object-path /StatusNotifierWatcher \
	--method org.freedesktop.DBus.Properties.Get org.kde.StatusNotifierWatcher "$1"; }
host() { watcher IsStatusNotifierHostRegistered | grep -q true; }
item() { watcher RegisteredStatusNotifierItems | grep -q StatusNotifierItem; }
until_ok 1500 host || die "no panel"

# From the package to the icon. The index of all manuals of this machine, and other work that dpkg gives to other
# packages, comes afterwards: it takes as long as there is of them.
begin=$(now)
dpkg --no-triggers -i "$package" >/tmp/dpkg.log 2>&1 || die "dpkg -i"
installed=$(now)
entry=/usr/share/applications/dev.chatwright.tray.desktop
as_user gio launch $entry >/tmp/app.log 2>&1 &
until_ok 1500 item || die "no icon"
icon=$(now)
out "figure install $((installed - begin))"
out "figure install-to-icon $((icon - begin))"
dpkg --configure -a >/tmp/dpkg.log 2>&1 && dpkg --triggers-only -a >/tmp/dpkg.log 2>&1 || die "the triggers"
curl -sf http://127.0.0.1:4319/health >/dev/null || die "the companion does not answer"
out "started from the menu"

# Every action of the menu entry is a command that works.
sed -n 's/^Exec=chatwright-tray open/open/p' $entry | while read -r action; do
	as_user chatwright-tray $action >/tmp/action.log 2>&1 || die "the action $action: $(cat /tmp/action.log)"
	out "action $action"
done || exit 1

man -w chatwright-tray >/dev/null || die "no manual"
bash -c '. /usr/share/bash-completion/completions/chatwright-tray && complete -p chatwright-tray' >/dev/null || die "no completion"
out "manual and completion are there"

# At login it starts once it is asked to, and not before.
login=$HOME/.config/autostart/dev.chatwright.tray.desktop
[ ! -e $login ] || die "it starts at login unasked"
as_user chatwright-tray autostart on >/tmp/autostart.log 2>&1 || die "autostart on: $(cat /tmp/autostart.log)"
grep -qx 'Exec=/usr/bin/chatwright-tray' $login || die "the entry is $(cat $login)"
desktop-file-validate $login || die "the entry for the login is no good one"
starts_at_login() { as_user chatwright-tray autostart status --json | tr -d ' \n' | grep -q '"on":true' &&
	! as_user chatwright-tray autostart status --json | grep -q '"trouble"'; }
starts_at_login || die "$(as_user chatwright-tray autostart status)"

# An upgrade while it runs.
for _ in 1 2 3; do
	curl -sf -H 'Content-Type: application/json' -d '{"model":"chatwright-demo","messages":[{"role":"user","content":"Hello"}]}' \
		http://127.0.0.1:4319/v1/chat/completions >/dev/null || die "a call"
done
version=$(dpkg-deb -f "$newer" Version) version=${version%-*}
says() { curl -sf http://127.0.0.1:4319/health | grep -qF "\"version\":\"$1\""; }
recorded() { as_user chatwright-tray calls --since 1h --json | grep -c '"id"'; }
three() { [ "$(recorded)" = 3 ]; }
until_ok 500 three || die "recorded: $(recorded) of 3 calls"
pid=$(as_user chatwright-tray status --json | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' | head -1)
dpkg -i "$newer" >/tmp/dpkg.log 2>&1 || die "the upgrade"
[ "$(curl -sf -o /dev/null -w '%{http_code}' http://127.0.0.1:4319/health)" = 200 ] || die "the upgrade ended the companion"
case $(readlink /proc/"$pid"/exe) in *deleted*) ;; *) die "the upgrade replaced nothing" ;; esac
three || die "after the upgrade: $(recorded) of 3 calls"
as_user chatwright-tray restart >/tmp/restart.log 2>&1 || die "restart: $(cat /tmp/restart.log)"
next=$(as_user chatwright-tray status --json | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' | head -1)
[ "$next" != "$pid" ] || die "restart left the old program running"
[ "$(readlink /proc/"$next"/exe)" = /usr/bin/chatwright-tray ] || die "restart started $(readlink /proc/"$next"/exe)"
says "$version" || die "after the restart: $(curl -s http://127.0.0.1:4319/health), not $version"
until_ok 1500 item || die "no icon after the restart"
three || die "after the restart: $(recorded) of 3 calls"
starts_at_login || die "after the upgrade: $(as_user chatwright-tray autostart status)"
out "upgraded to $version while it ran, with its records and its icon"
as_user chatwright-tray autostart off >/tmp/autostart.log 2>&1 || die "autostart off: $(cat /tmp/autostart.log)"
[ ! -e $login ] || die "autostart off left its entry"
out "at login: on over an upgrade, and off"

# An upgrade of who runs it as a service. There is no systemd in here: a stand-in does to the process what systemd would,
# when the package asks for it in the way of Debian.
as_user chatwright-tray stop >/tmp/stop.log 2>&1 || die "stop: $(cat /tmp/stop.log)"
dpkg -i "$package" >/tmp/dpkg.log 2>&1 || die "the way back"
unit=/usr/lib/systemd/user/chatwright-tray.service
cat >/usr/local/bin/deb-systemd-invoke <<-STAND-IN
	#!/bin/bash
	echo "\$*" >>/tmp/asked
	[ "\$*" = "--user stop chatwright-tray.service" ] || [ "\$*" = "--user restart chatwright-tray.service" ] || exit 1
	if [ -s /tmp/main-pid ]; then kill \$(cat /tmp/main-pid); while kill -0 \$(cat /tmp/main-pid) 2>/dev/null; do sleep 0.02; done; fi
	[ "\$2" = stop ] && exec rm -f /tmp/main-pid
	exec setsid setpriv --reuid 1000 --regid 1000 --clear-groups \$(sed -n 's/^ExecStart=//p' $unit) >>/tmp/service.log 2>&1 </dev/null &
	echo \$! >/tmp/main-pid
STAND-IN
chmod +x /usr/local/bin/deb-systemd-invoke
mkdir -p /run/systemd/system
deb-systemd-invoke --user restart chatwright-tray.service
old=$(dpkg-deb -f "$package" Version) old=${old%-*}
until_ok 1500 says "$old" || die "the service does not answer as $old"
until_ok 500 three || die "the service: $(recorded) of 3 calls"
>/tmp/asked
dpkg -i "$newer" >/tmp/dpkg.log 2>&1 || die "the upgrade of the service"
[ "$(cat /tmp/asked)" = "--user restart chatwright-tray.service" ] || die "asked of systemd: $(cat /tmp/asked)"
until_ok 1500 says "$version" || die "after the upgrade: $(curl -s http://127.0.0.1:4319/health), not $version"
three || die "after the upgrade of the service: $(recorded) of 3 calls"
out "upgraded to $version while it ran as a service, with its records"

# Removed, purged, and gone. The service is ended by the package.
>/tmp/asked
dpkg -r chatwright-tray >/tmp/dpkg.log 2>&1 || die "dpkg -r"
[ "$(cat /tmp/asked)" = "--user stop chatwright-tray.service" ] || die "asked of systemd: $(cat /tmp/asked)"
says "$version" && die "it still answers"
rm /usr/local/bin/deb-systemd-invoke
dpkg -P chatwright-tray >/tmp/dpkg.log 2>&1 || die "dpkg -P"
cd "$CHANGED"
# What dpkg, and the caches of the icons, menu entries and manuals, write for themselves is not of the package.
find . -mindepth 1 | sed 's|^\./||' | grep -vE '^var/(lib/dpkg|log|cache)(/|$)' | while read -r path; do
	[ -e "$BEFORE/$path" ] || [ -L "$BEFORE/$path" ] || case $path in
	usr/share/icons/hicolor/icon-theme.cache | usr/share/icons/hicolor/.icon-theme.cache | usr/share/applications/mimeinfo.cache) ;;
	*) out "left over: $path" ;;
	esac
done >/tmp/leftovers
[ ! -s /tmp/leftovers ] || die "$(cat /tmp/leftovers)"
dpkg -s chatwright-tray >/dev/null 2>&1 && die "dpkg still knows it"
out "removed and purged without leftovers"
