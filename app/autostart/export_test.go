package autostart

// The pure parts of every system, for the tests on any.
var (
	QuoteExec    = func(s string) string { return quoteExec(s) }
	SplitExec    = func(s string) ([]string, error) { return splitExec(s) }
	RenderEntry  = renderEntry
	RenderHidden = renderHidden
	Windowless   = windowless
	ParseExec    = func(data []byte) ([]string, bool, error) { e, err := parseEntry(data); return e.exec, e.off, err }

	RenderAgent = renderAgent
	ParseAgent  = func(data []byte) (command []string, starts bool, err error) {
		a, err := parseAgent(data)
		return a.command, err == nil && !a.disabled && !a.notAtLogin, err
	}
	DisabledIn = disabledIn

	CommandLine = commandLine
	ProgramOf   = programOf
	Approved    = approved
)
