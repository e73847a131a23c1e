cask "chatwright-tray" do
  version "{{.Version}}"
  sha256 "{{.MacOSSum}}"

  url "{{.Releases}}/v#{version}/chatwright-tray-#{version}-macos.zip"
  name "Chatwright Tray"
  desc "Companion of Chatwright, which tests chat bots"
  homepage "https://chatwright.dev/"

  depends_on macos: ">= :monterey"

  app "Chatwright Tray.app"
  binary "#{appdir}/Chatwright Tray.app/Contents/MacOS/chatwright-tray"
  manpage "#{appdir}/Chatwright Tray.app/Contents/Resources/chatwright-tray.1"

  uninstall quit: "dev.chatwright.tray"

  zap trash: [
    "~/Library/Application Support/chatwright",
    "~/Library/Caches/chatwright",
    "~/Library/LaunchAgents/dev.chatwright.tray.plist",
  ]
end
