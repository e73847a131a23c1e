package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the shop is a database like a user's own
)

// makeShop writes a SQLite file from the statements of a script; it is "make-db FILE SCRIPT" in the scripts.
func makeShop(path, script string) error {
	text, err := os.ReadFile(script)
	if err != nil {
		return err
	}
	return makeDatabase(path, string(text))
}

func makeDatabase(path, statements string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.Exec(statements)
	return errorsOf(err, db.Close())
}

// makeDatabaseMain is a program of the scripts.
func makeDatabaseMain() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: make-db FILE SCRIPT")
		os.Exit(2)
	}
	if err := makeShop(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The console asks a real database through the real program: the guard lets its own page, and only the rows of the
// query, through.
func TestConsoleAsksARealDatabase(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	shop := filepath.Join(u.home, "shop.db")
	if err := makeDatabase(shop, `CREATE TABLE items (id INTEGER PRIMARY KEY, title TEXT, price DECIMAL(10,2), big INTEGER);
		INSERT INTO items VALUES (1, 'milk', '1.50', 9007199254740993), (2, 'eggs', '2.30', 2);`); err != nil {
		t.Fatal(err)
	}
	c := u.launch("--headless", "--datastate", "shop=sqlite:"+shop)
	tab := newTab(t)
	const run = `(async () => {
		const until = async (holds) => { while (!holds()) await new Promise((done) => setTimeout(done, 20)) };
		const at = (id) => document.getElementById('data-' + id);
		const run = async (query) => {
			at('query').value = query;
			at('run').click();
			await until(() => !at('run').hasAttribute('aria-busy'));
			return [at('verdict'), at('rows-count'), at('detail'), at('rows').tBodies[0]].map((node) => node.innerText.trim()).join('|');
		};
		await until(() => at('ask') && !at('ask').hidden);
		const holder = at('holder').selectedOptions[0].text + ' ' + at('reach').innerText;
		return [holder, await run("from: {name: items}\nwhere: {op: '==', left: {field: title}, right: {value: milk}}"), await run('from: {name: itmes}')].join('\n');
	})()`
	got := strings.Split(inPage(tab, t, c.url("/console/#/data"), run), "\n")
	if len(got) != 3 || got[0] != "shop · SQLite reachable" ||
		!strings.HasPrefix(got[1], "pass|1 row · texts compare by BINARY||") || !strings.Contains(got[1], "9007199254740993") || !strings.Contains(got[1], "milk") ||
		!strings.HasPrefix(got[2], "fail||datastate: query execution failed: ") || !strings.Contains(got[2], "items") {
		t.Errorf("the console shows %q", got)
	}
}
