package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"chatwright.dev/tray/app"
	"chatwright.dev/tray/app/settings"
	"chatwright.dev/tray/server"
	"chatwright.dev/tray/server/client"
	"chatwright.dev/tray/server/datastate/dtql"
	"chatwright.dev/tray/server/hint"
)

// maxQueryAnswer bounds what is read of an answer, which is twenty rows and their evidence.
const maxQueryAnswer = 16 << 20

const queryHelp = `Runs one read-only query in DTQL on a holder, which is a database that is configured by name, and shows the rows.
The query is read from a file, or from the standard input. With --expect the rows are checked.

The running companion is asked, and its holders are those that it was started with. Where none runs, or --datastate or
--datastate-fixtures is given here, the query runs in this process with the holders of this command line, the
environment and tray.toml: that is the way in a CI job.

A query names a table, and whatever it wants of these:

  from: {name: lists}
  where: {op: "==", left: {field: space_id}, right: {param: space}}
  columns: [{field: id}, {field: title}]
  orderBy: [{field: title}]
  limit: 10

A --param is what it would be in a document: 5 and null are no texts, "5" is; [a, b] is a list.
An --expect is one of nonEmpty, empty, exactRowCount=N, minRowCount=N, maxRowCount=N, rowContains={…} and
exactRows=[{…}], the last two with JSON; all of them have to hold.

It exits with 0 when the query ran and every expectation holds, with 1 when not, and with 5 when the query, or data
state at all, is not supported there.`

func (c *cli) queryCommand() *cobra.Command {
	var asJSON bool
	var params, expectations []string
	var request server.QueryRequest
	cmd := &cobra.Command{
		Use:   "query HOLDER [FILE|-]",
		Short: "Ask a database that is configured by name, and check what it stores",
		Long:  queryHelp,
		Example: `  chatwright-tray query shop lists.yaml -p space=family --expect exactRowCount=2
  echo '{from: {name: lists}, limit: 5}' | chatwright-tray query shop
  chatwright-tray query shop lists.yaml --datastate shop=sqlite:./shop.db --json`,
		Args: queryArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Holder, request.Evidence, request.KeepOrder = args[0], true, true
			var err error
			if request.Query, err = readQuery(cmd.InOrStdin(), args[1:]); err != nil {
				return err
			}
			if request.Params, err = parseParams(params); err != nil {
				return withCode(exitUsage, err)
			}
			if request.Expectations, err = parseClaims(expectations); err != nil {
				return withCode(exitUsage, err)
			}
			answer, noData, err := c.ask(cmd.Context(), request)
			if err != nil {
				return err
			}
			if err := c.showAnswer(answer, columnsOf(request.Query), asJSON); err != nil {
				return err
			}
			return queryError(answer, noData)
		},
	}
	jsonFlag(cmd, &asJSON)
	flags := cmd.Flags()
	flags.StringArrayVarP(&params, "param", "p", nil, "bind a param of the query, as `name=value`; repeatable")
	flags.StringArrayVarP(&expectations, "expect", "e", nil, "what has to hold, an `expectation` such as nonEmpty or exactRowCount=2; repeatable")
	flags.StringSliceVar(&request.SortKeys, "sort-key", nil, "order the rows by this `field` before they are compared; repeatable")
	flags.StringSliceVar(&request.ExcludedFields, "exclude", nil, "leave this `field` out of the comparison; repeatable")
	flags.StringSliceVar(&request.Redact, "redact", nil, "do not show the values of this `field` or param; repeatable")
	c.settingsFlags(flags, dataSetting)
	return cmd
}

// dataSetting reports whether a setting says which holders there are.
func dataSetting(s settings.Setting) bool { return strings.HasPrefix(s.Name, "datastate") }

func queryArguments(cmd *cobra.Command, args []string) error {
	way := "see " + cmd.CommandPath() + " --help"
	switch {
	case len(args) == 0:
		return withCode(exitUsage, hint.With(errors.New("no holder is named"), way))
	case len(args) > 2:
		return withCode(exitUsage, hint.With(fmt.Errorf("one file at most, not %d", len(args)-1), way))
	}
	return nil
}

// readQuery reads the query: of a file, or of the standard input where none is named.
func readQuery(stdin io.Reader, files []string) (string, error) {
	in := stdin
	if len(files) > 0 && files[0] != "-" {
		file, err := os.Open(files[0])
		if err != nil {
			return "", hint.With(err, "name a file with a query, or - for the standard input")
		}
		defer file.Close()
		in = file
	} else if terminal, ok := stdin.(io.Writer); ok && len(files) == 0 && isTerminal(terminal) {
		return "", withCode(exitUsage, hint.With(errors.New("no query is given"), "name a file, or pipe the query in"))
	}
	text, err := io.ReadAll(io.LimitReader(in, dtql.MaxBytes+1))
	if err != nil {
		return "", fmt.Errorf("reading the query: %w", err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return "", withCode(exitUsage, hint.With(errors.New("the query is empty"), `the shortest one is {from: {name: a_table}}`))
	}
	if len(text) > dtql.MaxBytes {
		return "", withCode(exitUsage, errors.New("the query is over 64 KiB"))
	}
	return string(text), nil
}

// ask has the query run where its holder is: by the companion, or in this process. noData is what to say if there is no
// data at all.
func (c *cli) ask(ctx context.Context, request server.QueryRequest) (answer server.QueryAnswer, noData, err error) {
	if c.namesHolders() {
		answer, err = c.askHere(ctx, request)
		return answer, noDataHere(), err
	}
	daemon, err := c.daemon(ctx)
	if err == nil {
		answer, err = c.askDaemon(ctx, daemon, request)
		return answer, noDataThere(), err
	}
	if exitCode(err) != exitNotRunning {
		return answer, nil, err
	}
	now, _, loadErr := c.load()
	if loadErr != nil {
		return answer, nil, loadErr
	}
	if !hasHolders(now) {
		return answer, nil, withCode(exitNotRunning, hint.With(errors.New("Chatwright is not running, and no holder is configured here"),
			"start it: chatwright-tray start; or name the data: "+waysToData))
	}
	answer, err = c.askHere(ctx, request)
	return answer, noDataHere(), err
}

// namesHolders reports whether this command line itself says which holders there are.
func (c *cli) namesHolders() bool {
	for _, s := range settings.Table() {
		if _, given := c.flags.Lookup(s.Name); given && dataSetting(s) {
			return true
		}
	}
	return false
}

func hasHolders(now settings.Settings) bool {
	return now.DatastateFixtures != "" || len(now.Datastate) > 0
}

// askHere answers in this process: the same server, with nobody listening.
func (c *cli) askHere(ctx context.Context, request server.QueryRequest) (server.QueryAnswer, error) {
	now, _, err := c.load()
	if err != nil {
		return server.QueryAnswer{}, err
	}
	c.warnVisible(now)
	cfg := server.Config{Version: version, FixturesPath: now.DatastateFixtures}
	store, err := app.Databases(now, nil)
	if err != nil {
		return server.QueryAnswer{}, err
	}
	if store != nil {
		defer store.Close()
		cfg.Databases = store
	}
	s, err := server.New(cfg)
	if err != nil {
		return server.QueryAnswer{}, err
	}
	return s.Query(ctx, request)
}

// warnVisible tells who wrote a password where every user of the machine can read it.
func (c *cli) warnVisible(now settings.Settings) {
	for _, name := range now.Visible() {
		c.warn("the password of the database " + name + " stands in a --datastate flag, which everybody can see in ps; " +
			"dsn_env or dsn_file in tray.toml, or the environment, keep it from them")
	}
}

// askDaemon sends the query to the companion's own HTTP server, which is what pages do too.
func (c *cli) askDaemon(ctx context.Context, daemon *client.Client, request server.QueryRequest) (server.QueryAnswer, error) {
	status, err := daemon.Status(ctx)
	if err != nil {
		return server.QueryAnswer{}, err
	}
	body, err := json.Marshal(request)
	if err != nil {
		return server.QueryAnswer{}, err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+reachable(status.Addr)+"/datastate/query", bytes.NewReader(body))
	if err != nil {
		return server.QueryAnswer{}, err
	}
	post.Header.Set("Content-Type", "application/json")
	if now, _, err := c.load(); err == nil { // without settings there is no token to send
		if token, err := now.ReadRemoteToken(); err == nil && token != nil {
			post.Header.Set("Authorization", "Bearer "+string(token))
		}
	}
	// No proxy of the environment's: the companion is on this machine.
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(post)
	if err != nil {
		return server.QueryAnswer{}, hint.With(fmt.Errorf("asking Chatwright on %s: %w", status.Addr, err), "see what it does: chatwright-tray status")
	}
	defer response.Body.Close()
	return readAnswer(response)
}

// reachable is an address to call: one that means "every interface" is none.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}

func readAnswer(response *http.Response) (server.QueryAnswer, error) {
	var answer struct {
		server.QueryAnswer
		Error string `json:"error"`
	}
	dec := json.NewDecoder(io.LimitReader(response.Body, maxQueryAnswer))
	dec.UseNumber()
	if err := dec.Decode(&answer); err != nil {
		return server.QueryAnswer{}, fmt.Errorf("reading the answer (HTTP %d): %w", response.StatusCode, err)
	}
	if response.StatusCode != http.StatusOK {
		return server.QueryAnswer{}, fmt.Errorf("asking for data: %s (HTTP %d)", answer.Error, response.StatusCode)
	}
	return answer.QueryAnswer, nil
}

// columnsOf are the columns that a query names, in its order. What is no DTQL, as the text of a fixture need not be, names
// none.
func columnsOf(query string) (names []string) {
	doc, err := dtql.Unmarshal([]byte(query))
	if err != nil {
		return nil
	}
	for _, column := range doc.Columns {
		if column.Wildcard == nil {
			names = append(names, column.Name())
		}
	}
	return names
}

// showAnswer prints the rows, or all of the answer.
func (c *cli) showAnswer(answer server.QueryAnswer, columns []string, asJSON bool) error {
	if asJSON {
		return c.printJSON(answer)
	}
	return c.printRows(answer, columns)
}

// printRows prints a table, and beside it how much of the data it shows.
func (c *cli) printRows(answer server.QueryAnswer, columns []string) error {
	if answer.Rows == nil {
		return nil
	}
	if len(answer.Rows) > 0 {
		table := rowsTable(answer.Rows, columns)
		if isTerminal(c.stdout) {
			table = cut(table, terminalWidth(c.stdout))
		}
		if _, err := io.WriteString(c.stdout, table); err != nil {
			return err
		}
	}
	said := rowsText(len(answer.Rows))
	if e := answer.Evidence; e != nil && e.TotalRows > len(answer.Rows) {
		said = fmt.Sprintf("%d of %s", len(answer.Rows), rowsText(e.TotalRows))
	}
	if answer.Verdict == server.VerdictPass {
		said += ", pass"
	}
	_, _ = fmt.Fprintln(c.stderr, said)
	return nil
}

func rowsText(n int) string {
	if n == 1 {
		return "1 row"
	}
	return strconv.Itoa(n) + " rows"
}
