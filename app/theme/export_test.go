package theme

// FromFiles is what the settings files in a folder say.
func FromFiles(folder string) Look { return Look{}.fromFiles(folder) }
