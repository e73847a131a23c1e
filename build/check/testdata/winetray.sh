#!/bin/bash
# Shows the tray of the Windows program in a real panel, through wine and XEMBED, and does there what a person does:
#
#   winetray.sh FOLDER ADDRESS PANEL-CONFIG PICTURES
#
# FOLDER holds the programs and the library that wine lacks. Prints a line for each thing that was seen. Keys do not
# reach the menus of wine without a window manager, so all is done with the mouse.
folder=$1 address=$2 panel=$3 pictures=$4
. "${0%/*}/winelib.sh"
desk=$WINEPREFIX/desk opened=$WINEPREFIX/opened
mkdir -p "$desk/bin" "$desk/run" "$desk/xfce4/xfconf/xfce-perchannel-xml" && chmod 700 "$desk/run"
cp "$panel" "$desk/xfce4/xfconf/xfce-perchannel-xml/"
printf '#!/bin/sh\nprintf "%%s\\n" "$@" >>%s\n' "$opened" >"$desk/bin/xdg-open" && chmod +x "$desk/bin/xdg-open"
unset WAYLAND_DISPLAY SESSION_MANAGER BROWSER CHATWRIGHT_NO_BROWSER
export PATH=$desk/bin:$PATH XDG_CONFIG_HOME=$desk XDG_RUNTIME_DIR=$desk/run GDK_BACKEND=x11 NO_AT_BRIDGE=1
export CHATWRIGHT_RELEASE_CHECK=false
started=()
# With TERM a panel may hang; and nothing here has anything to save.
trap 'wineserver -k; for ((i = ${#started[@]} - 1; i >= 0; i--)); do kill -9 "${started[i]}"; done; wait' EXIT
exec 2>>"$WINEPREFIX/script.log"
shot() { timeout 20 import -window root "$pictures/wine-$1.png"; }
fail() { shot failed; die "$@"; }

mkfifo "$desk/display" && exec 3<>"$desk/display"
Xvfb -displayfd 3 -screen 0 800x600x24 -nolisten tcp >"$WINEPREFIX/xvfb.log" 2>&1 & started+=($!)
read -t 20 -r number <&3 || die "no screen"
export DISPLAY=:$number DBUS_SESSION_BUS_ADDRESS=unix:path=$desk/run/bus
dbus-daemon --session --nofork --nopidfile --address="$DBUS_SESSION_BUS_ADDRESS" >"$WINEPREFIX/bus.log" 2>&1 & started+=($!)
until_ok 100 test -S "$desk/run/bus" || die "no bus"
xfce4-panel --disable-wm-check >"$WINEPREFIX/panel.log" 2>&1 & started+=($!)
# The plugin that takes icons of X11 takes those of D-Bus too, and says so there.
host() { gdbus call --session --dest org.kde.StatusNotifierWatcher --object-path /StatusNotifierWatcher \
	--method org.freedesktop.DBus.Properties.Get org.kde.StatusNotifierWatcher IsStatusNotifierHostRegistered | grep -q true; }
until_ok 300 host || fail "no panel"
boot "$folder"
theme='HKCU\Software\Microsoft\Windows\CurrentVersion\Themes\Personalize'
task_bar() { wine reg add "$theme" /v SystemUsesLightTheme /t REG_DWORD /d "$1" /f >"$WINEPREFIX/reg.log" 2>&1 || fail "the registry"; }
task_bar 0

answers() { curl -sf -m 5 "http://$address/health"; }
silent() { ! answers; }
icon() { timeout 20 import -window root -crop 22x22+5+573 +repage png:- | timeout 20 convert - "$@"; }
drawn() { [ "$(icon -format %k info:)" -gt 4 ]; }
not_drawn() { ! drawn; }
ink() { icon -colorspace Gray -format '%[fx:int(100*minima)]' info:; }
dark() { [ "$(ink)" -lt 15 ]; }
bright() { drawn && ! dark; }
# menus prints x, y, width and height of each that is open, the one that was opened first first.
menus() { timeout 10 xwininfo -root -tree |
	sed -n 's/^ *0x[0-9a-f]* (has no name): ("chatwright-tray.exe".*) *\([0-9]*\)x\([0-9]*\)+[-0-9]*+[-0-9]* *+\([0-9]*\)+\([0-9]*\)$/\3 \4 \1 \2/p' |
	awk '$3 >= 60 && $3 < 500 && $4 >= 40 { print }' | tac; }
has_menus() { [ "$(menus | wc -l)" = "$1" ]; }
mouse() { timeout 10 xdotool mousemove "$@"; }
open_menu() {
	mouse 16 584 click 3
	until_ok 100 has_menus 1 || fail "the menu does not open"
	read -r x y width height < <(menus)
	mouse 700 300 # or the tooltip of the icon lies over the menu
	sleep 0.5
}
# server opens the submenu Server, whose row is the lowest that has one, and leaves its place in $row and its first row
# in $first.
server() {
	open_menu
	for ((row = y + height - 24; row > y; row -= 6)); do
		mouse $((x + 40)) "$row"
		until_ok 8 has_menus 2 && break
	done
	read -r sub_x sub_y _ < <(menus | tail -n 1)
	first="$((sub_x + 20)) $((sub_y + 12))"
}
# click X Y, in a menu, which closes it.
click() { mouse "$1" "$2"; sleep 0.2; mouse "$1" "$2" click 1; until_ok 100 has_menus 0 || fail "a click did not close the menu"; }

wine "$folder/chatwright-tray.exe" --addr "$address" --upstream demo --state-dir "$(windows_path "$WINEPREFIX/home")" \
	>"$WINEPREFIX/app.log" 2>&1 & app=$!
until_ok 600 answers || fail "the companion does not answer"
until_ok 300 drawn || fail "there is no icon"
until_ok 100 bright || fail "the icon for a dark task bar is not bright"
shot icon
out "the icon is in the panel"

server
shot menu
click $first
until_ok 100 silent || fail "Stop in the menu stopped nothing"
server
shot stopped
click $first
until_ok 100 answers || fail "Start in the menu started nothing"
out "stopped and started from the menu"

at_login() { wine reg query 'HKCU\Software\Microsoft\Windows\CurrentVersion\Run' 2>/dev/null | grep -q 'chatwright-tray.exe.*--state-dir'; }
not_at_login() { ! at_login; }
at_login && fail "it starts at login unasked"
server
click $((x + 40)) $((row + 12))
until_ok 100 at_login || fail "Start at login wrote nothing into the registry"
open_menu
shot at-login
click $((x + 40)) $((row + 12))
until_ok 100 not_at_login || fail "Start at login cannot be switched off"
out "at login: on, and off"

mouse 16 584 click 1
until_ok 300 grep -q 'https://chatwright.dev/studio/' "$opened" || fail "a left click did not open Studio"
out "a left click opens Studio"

mouse 700 300
task_bar 1
until_ok 100 dark || fail "the icon does not follow the task bar"
shot light
out "the icon follows the task bar"

open_menu
click $((x + 40)) $((y + height - 10))
gone() { ! kill -0 "$app"; }
until_ok 300 gone || fail "Quit did not end the program"
wait "$app" || fail "Quit ended the program with $?"
silent || fail "after Quit it answers"
until_ok 100 not_drawn || fail "the icon is still there"
shot quit
out "quit from the menu"
