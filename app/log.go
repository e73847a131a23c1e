package app

import (
	"io"
	"log/slog"

	"gopkg.in/natefinch/lumberjack.v2"
)

// The log keeps five files of 5 MiB: the one being written and four before it.
const (
	logFileMiB = 5
	logBackups = 4
)

// openLog returns a logger that writes to the file at path, which it rotates by size, and what closes it.
func openLog(path string, level *slog.LevelVar) (*slog.Logger, io.Closer) {
	file := &lumberjack.Logger{Filename: path, MaxSize: logFileMiB, MaxBackups: logBackups}
	return slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: level})), file
}
