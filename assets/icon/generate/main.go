// Command generate draws the tray icons anew: "go generate ./assets/..." runs it. It needs no network.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"chatwright.dev/tray/assets/icon"
)

func main() {
	if err := generate("icon"); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func generate(folder string) error {
	files, err := icon.DrawAll(func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(folder, name)) })
	if err != nil {
		return fmt.Errorf("drawing the icons: %w", err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			return fmt.Errorf("writing an icon: %w", err)
		}
	}
	return nil
}
