# After an upgrade, those who run the companion as a service get the new one (as %systemd_user_postun_with_restart does it).
if [ "$1" -ge 1 ] && [ -x /usr/lib/systemd/systemd-update-helper ]; then
	/usr/lib/systemd/systemd-update-helper mark-restart-user-units chatwright-tray.service || :
fi
