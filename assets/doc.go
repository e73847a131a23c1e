// Package assets holds the files that are built into the program: the icons of the tray and the pages of the console.
package assets
