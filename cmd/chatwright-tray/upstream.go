package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/hint"
	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/upstream"
)

func (c *cli) upstreamCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "upstream",
		Short: "List, add, choose and remove the model servers that calls can go to",
		Long: `Model servers besides the configured one: those that you gave a name, and those that were found on this machine.
"configured" is the one of the upstream setting, "demo" the built-in model. One of them is in use: Studio's calls go
there. A session can have any of them.

What was chosen last holds after a restart too. A flag --upstream, or CHATWRIGHT_SERVER_UPSTREAM, wins over it for
the run that is started with it. When nobody has said, it is one that was found.`,
		Example: `  chatwright-tray upstream add work https://llm.example/v1 --ask-key --model big
  chatwright-tray upstream use work
  chatwright-tray upstream list`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.upstreamListCommand(), c.upstreamAddCommand(), c.upstreamUseCommand(), c.upstreamRemoveCommand())
	return cmd
}

func (c *cli) upstreamListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Look for model servers on this machine, and list all with whether each answers",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			daemon, err := c.ensureDaemon(cmd.Context())
			if err != nil {
				return err
			}
			list, err := daemon.Upstreams(cmd.Context(), true)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(list.Upstreams)
			}
			_, err = io.WriteString(c.stdout, upstreamTable(list.Upstreams))
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// upstreamTable marks the one in use. What is wrong with one is in a line of its own, since it is a sentence.
func upstreamTable(all []protocol.UpstreamEntry) string {
	name, model := len("NAME"), len("MODEL")
	for _, u := range all {
		name, model = max(name, len([]rune(u.Name))), max(model, len([]rune(printable(u.Model))))
	}
	var b strings.Builder
	row := func(mark, a, key, m, state, base string) {
		fmt.Fprintf(&b, "%1s %-*s  %-3s  %-*s  %-13s  %s\n", mark, name, a, key, model, m, state, base)
	}
	row("", "NAME", "KEY", "MODEL", "STATE", "URL")
	for _, u := range all {
		mark, key := "", "–"
		if u.Active {
			mark = "*"
		}
		if u.HasKey {
			key = "yes"
		}
		text := u.BaseURL
		if u.Source == protocol.SourceFound {
			text += " · found on this machine"
		}
		row(mark, u.Name, key, orDash(printable(u.Model)), reachText(u.Reach), printable(text))
		if u.Detail != "" {
			fmt.Fprintf(&b, "    %s\n", printable(u.Detail))
		}
	}
	return b.String()
}

func reachText(r protocol.Reach) string {
	switch r {
	case protocol.ReachOK:
		return "reachable"
	case protocol.ReachLoading:
		return "loading"
	case protocol.ReachDown:
		return "not reachable"
	}
	return "not asked yet"
}

// keySource is where the key of an upstream comes from. There is no flag for the key itself: who lists the processes of a
// machine sees their arguments.
type keySource struct {
	ask, stdin, none bool
	env              string
}

func (c *cli) upstreamAddCommand() *cobra.Command {
	var from keySource
	var model string
	var use, asJSON bool
	cmd := &cobra.Command{
		Use:   "add NAME URL",
		Short: "Add a model server under a name, or change the one of that name",
		Long: `Adds a model server, or changes the one of that name: the next call goes where it says now. URL is its base URL,
which for most ends in /v1.

A key is asked for with --ask-key, read from standard input with --key-stdin, or from a variable with --key-env.
It is stored in a file that only you can read, sent to that server alone, and never shown. Without one of these a
server that is there keeps its key, as long as the URL still names the same server.`,
		Example: `  chatwright-tray upstream add lmstudio http://localhost:1234/v1
  chatwright-tray upstream add work https://llm.example/v1 --ask-key
  pass show llm | chatwright-tray upstream add work https://llm.example/v1 --key-stdin`,
		Args: twoArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			// Before a companion is started, and before the name is part of a path.
			if err := upstream.CheckName(args[0]); err != nil {
				return withCode(exitUsage, err)
			}
			key, err := c.readKey(cmd, from)
			if err != nil {
				return err
			}
			req := protocol.PutUpstreamRequest{Name: args[0], BaseURL: args[1], APIKey: key, Model: model}
			return c.addUpstream(cmd.Context(), req, cmd.Flags().Changed("model"), use, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&from.ask, "ask-key", false, "ask for the key, without showing it")
	flags.BoolVar(&from.stdin, "key-stdin", false, "read the key from standard input")
	flags.StringVar(&from.env, "key-env", "", "read the key from this environment `variable`")
	flags.BoolVar(&from.none, "no-key", false, "it has no key; one that is stored is forgotten")
	flags.StringVar(&model, "model", "", "`model` of sessions that name none; without it, the first that the server lists")
	flags.BoolVar(&use, "use", false, "use it from now on")
	jsonFlag(cmd, &asJSON)
	cmd.MarkFlagsMutuallyExclusive("ask-key", "key-stdin", "key-env", "no-key")
	return cmd
}

func oneName(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return withCode(exitUsage, hint.With(errors.New("one name is needed, and nothing else"),
		"write: "+cmd.CommandPath()+" NAME; see which there are: chatwright-tray upstream list"))
}

// twoArguments does not repeat what it refuses: it may be a key that was meant to be an argument.
func twoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 2 {
		return nil
	}
	way := "write: " + cmd.CommandPath() + " NAME URL"
	if len(args) > 2 {
		way += "; a key is no argument, since everybody on this machine can see those: use --ask-key, --key-stdin or --key-env"
	}
	return withCode(exitUsage, hint.With(errors.New("a name and a URL are needed, and nothing else"), way))
}

func (c *cli) addUpstream(ctx context.Context, req protocol.PutUpstreamRequest, newModel, use, asJSON bool) error {
	daemon, err := c.ensureDaemon(ctx)
	if err != nil {
		return err
	}
	if before, err := daemon.Upstream(ctx, req.Name); err == nil && !newModel {
		req.Model = before.Model
	}
	entry, err := daemon.PutUpstream(ctx, req.Name, req)
	if err != nil {
		return err
	}
	if use {
		if err := daemon.UseUpstream(ctx, req.Name); err != nil {
			return err
		}
		entry.Active = true
	}
	if entry.HasKey && inTheClear(entry.BaseURL) {
		c.warn("the key goes to " + entry.BaseURL + " unencrypted: use https if that server has it")
	}
	if asJSON {
		return c.printJSON(entry)
	}
	text := "Stored " + entry.Name + ": " + entry.BaseURL
	if entry.HasKey {
		text += ", with a key"
	}
	if entry.Active {
		text += "; Studio's calls go there"
	} else {
		text += "; use it with: chatwright-tray upstream use " + entry.Name
	}
	_, _ = fmt.Fprintln(c.stderr, printable(text))
	return nil
}

// inTheClear says whether what goes to that URL can be read on the way.
func inTheClear(base string) bool {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" {
		return false
	}
	host := strings.ToLower(u.Hostname())
	ip := net.ParseIP(host)
	return host != "localhost" && !strings.HasSuffix(host, ".localhost") && (ip == nil || !ip.IsLoopback())
}

// maxKeyInput is how much is read that may be a key.
const maxKeyInput = 64 << 10

// readKey returns the key that was given, nil for none given, or "" to forget the one that is stored.
func (c *cli) readKey(cmd *cobra.Command, from keySource) (*string, error) {
	key := ""
	switch {
	case from.none:
		return &key, nil
	case from.env != "":
		if key = os.Getenv(from.env); key == "" {
			return nil, withCode(exitUsage, hint.With(fmt.Errorf("the variable %q of --key-env is not set", from.env),
				"set and export it, or use --ask-key"))
		}
	case from.stdin:
		data, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxKeyInput))
		if err != nil {
			return nil, fmt.Errorf("reading the key from standard input: %w", err)
		}
		key = string(data)
	case from.ask:
		var err error
		if key, err = c.askKey(cmd); err != nil {
			return nil, err
		}
	default:
		return nil, nil
	}
	if key = strings.TrimSpace(key); key == "" {
		return nil, withCode(exitUsage, hint.With(errors.New("the key is empty"), "give one, or say --no-key"))
	}
	return &key, nil
}

// askKey asks for a key on the terminal, without echo. An interrupt gives the terminal back as it was.
func (c *cli) askKey(cmd *cobra.Command) (string, error) {
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return "", withCode(exitUsage, hint.With(errors.New("there is no terminal to ask for the key on"), "pipe it in, with --key-stdin"))
	}
	before, err := term.GetState(int(in.Fd()))
	if err != nil {
		return "", fmt.Errorf("asking for the key: %w", err)
	}
	_, _ = fmt.Fprint(c.stderr, "Key: ")
	defer func() { _, _ = fmt.Fprintln(c.stderr) }()
	type answer struct {
		key []byte
		err error
	}
	asked := make(chan answer, 1)
	go func() { // it may wait for ever for a line; this process does not
		key, err := term.ReadPassword(int(in.Fd()))
		asked <- answer{key, err}
	}()
	select {
	case a := <-asked:
		if a.err != nil {
			return "", fmt.Errorf("asking for the key: %w", a.err)
		}
		return string(a.key), nil
	case <-cmd.Context().Done():
		_ = term.Restore(int(in.Fd()), before)
		return "", withCode(exitInterrupted, errors.New("interrupted"))
	}
}

func (c *cli) upstreamUseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "use NAME",
		Short: `Send Studio's calls to one of them from now on; "configured" and "demo" are names too`,
		Long: `Sends Studio's calls to one of them from now on, by its name in the list: "configured" and "demo" are names
too. One that was found on this machine can also be given by its URL.`,
		Args:              oneName,
		ValidArgsFunction: c.completeUpstreams,
		RunE: func(cmd *cobra.Command, args []string) error {
			daemon, err := c.ensureDaemon(cmd.Context())
			if err != nil {
				return err
			}
			name, err := upstreamName(cmd.Context(), daemon, args[0])
			if err != nil {
				return err
			}
			if err := daemon.UseUpstream(cmd.Context(), name); err != nil {
				return err
			}
			_, _ = fmt.Fprintln(c.stderr, "Studio's calls go to", name, "now; those in flight end where they began")
			return nil
		},
	}
}

// upstreamName is the name of the upstream that somebody means, who may have written its URL.
func upstreamName(ctx context.Context, daemon *client.Client, written string) (string, error) {
	if !strings.Contains(written, "://") {
		return written, nil
	}
	list, err := daemon.Upstreams(ctx, true)
	if err != nil {
		return "", err
	}
	for _, u := range list.Upstreams {
		if u.BaseURL == strings.TrimRight(written, "/") {
			return u.Name, nil
		}
	}
	return "", hint.With(errors.New("no upstream has that URL"), "give it a name: chatwright-tray upstream add NAME URL --use")
}

func (c *cli) upstreamRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "rm NAME",
		Short:             "Forget one of them, and its key",
		Args:              oneName,
		ValidArgsFunction: c.completeUpstreams,
		RunE: func(cmd *cobra.Command, args []string) error {
			daemon, err := c.ensureDaemon(cmd.Context())
			if err != nil {
				return err
			}
			if err := daemon.DeleteUpstream(cmd.Context(), args[0]); err != nil {
				return err
			}
			_, _ = fmt.Fprintln(c.stderr, "Removed", args[0])
			return nil
		},
	}
}

// completeUpstreams offers the names that a companion knows, if one runs: a shell that completes starts none.
func (c *cli) completeUpstreams(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	daemon, err := c.daemon(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := daemon.Upstreams(cmd.Context(), false)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, u := range list.Upstreams {
		names = append(names, u.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
