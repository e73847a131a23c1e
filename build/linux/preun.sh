# What is removed does not go on running as a service (as %systemd_user_preun does it).
if [ "$1" -eq 0 ] && [ -x /usr/lib/systemd/systemd-update-helper ]; then
	/usr/lib/systemd/systemd-update-helper remove-user-units chatwright-tray.service || :
fi
