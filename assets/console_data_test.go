package assets_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const twoHolders = `{"holders":[{"name":"shop","kind":"sqlite","reach":"ok"},{"name":"crm","kind":"postgres","reach":"down","detail":"connection refused"}]}`

const threeRows = `{"verdict":"pass","rows":[
	{"id":9007199254740993,"title":"milk","price":1.50,"done":false,"tags":["a",{"b":2.0}],"note":null},
	{"id":2,"title":"<b>bread</b>","price":12,"done":true,"tags":[],"note":"two words"},
	{"id":3,"title":"牛乳","price":0.99,"done":true,"tags":{},"note":""}],
	"detail":"","evidence":{"totalRows":1242,"returnedRows":3,"collation":"BINARY"}}`

func (b chromium) testData(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *companion, *tab){
		"the rows of a query show with all their digits":   showsRows,
		"a failure says what was wanted":                   showsFailure,
		"what is not executed is no failure":               showsUnsupported,
		"what is wrong with a request is said":             showsWhatIsWrong,
		"params and expectations go with the query":        sendsParams,
		"examples fill the editor, a reload keeps it":      keepsTheEditor,
		"a holder that is gone is seen after the query":    seesAHolderGo,
		"the keyboard is enough":                           runsByKeyboard,
		"a lost companion is said, and the editor stays":   staysWhenLost,
		"params that are no JSON object are never sent":    refusesBadParams,
		"a number of rows is asked for where one is meant": showsTheCount,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompanion(t)
			c.locked(func() {
				c.holders = twoHolders
				c.answer = func(string) string { return threeRows }
			})
			p := b.open(t, c.url("/console/#/data"))
			p.waitFor(`!document.querySelector('#data-ask').hidden`)
			test(t, c, p)
		})
	}
	t.Run("without a database it says how to get one", func(t *testing.T) {
		t.Parallel()
		c := newCompanion(t)
		p := b.open(t, c.url("/console/#/data"))
		p.waitFor(`!document.querySelector('#data-none').hidden`)
		p.wantText("#data-none", "No database is configured. Start with one, and ask here what is stored in it:\n\n--datastate shop=sqlite:./shop.db")
		if !evaluate[bool](p, `document.querySelector('#data-ask').hidden`) {
			t.Error("there is an editor, and nobody to ask")
		}
		p.clean(c)
	})
}

// write sets the value of a field as a person does who types it.
func (p *tab) write(selector, value string) {
	p.t.Helper()
	evaluate[bool](p, fmt.Sprintf(`(() => { const field = document.querySelector(%s); field.value = %s;
		for (const name of ['input', 'change']) field.dispatchEvent(new Event(name, {bubbles: true})); return true })()`,
		strconv.Quote(selector), strconv.Quote(value)))
}

func (p *tab) click(selector string) {
	p.t.Helper()
	evaluate[bool](p, fmt.Sprintf(`(document.querySelector(%s).click(), true)`, strconv.Quote(selector)))
}

func (p *tab) ask(verdict string) {
	p.t.Helper()
	p.click("#data-run")
	p.waitForText("#data-verdict", verdict)
}

func (c *companion) wantQueries(want ...string) {
	c.t.Helper()
	for i := range want {
		want[i] = "application/json " + want[i]
	}
	c.locked(func() {
		if !slices.Equal(c.queries, want) {
			c.t.Errorf("queries: got\n%s\nwant\n%s", strings.Join(c.queries, "\n"), strings.Join(want, "\n"))
		}
	})
}

func showsRows(t *testing.T, c *companion, p *tab) {
	p.wantText("#data-reach", "reachable")
	p.wantText("#data-verdict", "not asked yet")
	if got, want := evaluate[string](p, `Array.from(document.querySelectorAll('#data-holder option'), (o) => o.text).join()`), "shop · SQLite,crm · PostgreSQL"; got != want {
		t.Errorf("holders: got %s, want %s", got, want)
	}
	p.write("#data-query", "from: {name: items}")
	p.ask("pass")
	p.wantText("#data-rows-count", "3 of 1,242 rows · texts compare by BINARY")
	p.wantText("#data-rows thead tr", "done\tid\tnote\tprice\ttags\ttitle")
	p.wantText("#data-rows tbody", strings.Join([]string{
		"false\t9007199254740993\tnull\t1.50\t[\"a\",{\"b\":2.0}]\tmilk",
		"true\t2\ttwo words\t12\t[]\t<b>bread</b>",
		"true\t3\t\t0.99\t{}\t牛乳",
	}, "\n"))
	if got := evaluate[string](p, `Array.from(document.querySelectorAll('#data-rows th.number'), (cell) => cell.textContent).join()`); got != "id,price" {
		t.Errorf("columns of numbers: got %s", got)
	}
	c.wantQueries(`{"holder":"shop","query":"from: {name: items}","evidence":true,"keepOrder":true}`)
	p.clean(c)
}

func showsFailure(t *testing.T, c *companion, p *tab) {
	const detail = "datastate: assertion failed: datastate-query: want exactly 3 row(s), got 0"
	c.locked(func() {
		c.answer = func(string) string { return `{"verdict":"fail","rows":[],"detail":"` + detail + `"}` }
	})
	p.ask("fail")
	p.wantText("#data-detail", detail)
	p.wantText("#data-rows-count", "0 rows")
	if !evaluate[bool](p, `document.querySelector('#data-table').hidden && document.querySelector('#data-verdict').getAttribute('role') === 'status'`) {
		t.Error("an empty table shows, or the verdict is not announced")
	}
	p.clean(c)
}

func showsUnsupported(_ *testing.T, c *companion, p *tab) {
	c.locked(func() {
		c.answer = func(string) string {
			return `{"verdict":"unsupported","rows":null,"detail":"unsupported: money at where.right.value"}`
		}
	})
	p.ask("unsupported")
	p.wantText("#data-detail", "unsupported: money at where.right.value")
	p.wantText("#data-rows-count", "")
	p.clean(c)
}

func showsWhatIsWrong(_ *testing.T, c *companion, p *tab) {
	c.locked(func() { c.answer = func(string) string { return "400" } })
	p.write("#data-query", " ")
	p.ask("not asked")
	p.wantText("#data-detail", "query is required")
	p.clean(c, "400 (Bad Request)")
}

func sendsParams(_ *testing.T, c *companion, p *tab) {
	p.write("#data-holder", "crm")
	p.wantText("#data-reach", "not reachable")
	p.wantText("#data-reach-detail", "connection refused")
	p.write("#data-query", "where: {param: a}")
	p.write("#data-params", `{"a": 9007199254740993, "b": ["x"]}`)
	p.write("#data-expect", "exactRowCount")
	p.write("#data-count", "3")
	p.ask("pass")
	p.write("#data-query", "from: {name: items}") // no params: what is still written there does not go along
	p.write("#data-expect", "nonEmpty")
	p.click("#data-run")
	p.waitFor(`!document.querySelector('#data-run').hasAttribute('aria-busy')`)
	c.wantQueries(
		`{"holder":"crm","query":"where: {param: a}","evidence":true,"keepOrder":true,"params":{"a":9007199254740993,"b":["x"]},"expectations":[{"type":"exactRowCount","count":3}]}`,
		`{"holder":"crm","query":"from: {name: items}","evidence":true,"keepOrder":true,"expectations":[{"type":"nonEmpty"}]}`)
	p.clean(c)
}

func refusesBadParams(_ *testing.T, c *companion, p *tab) {
	p.write("#data-query", "where: {param: a}")
	for _, params := range []string{`{`, `5`, `["a"]`, `null`} {
		p.write("#data-params", params)
		p.ask("not asked")
		p.wantText("#data-detail", `The params are no JSON object, such as {"space": "family"}.`)
	}
	c.wantQueries()
	p.clean(c)
}

func keepsTheEditor(t *testing.T, c *companion, p *tab) {
	names := evaluate[int](p, `document.querySelectorAll('#data-example option').length - 1`)
	for i := range names {
		p.write("#data-example", strconv.Itoa(i))
		if got := evaluate[string](p, `document.querySelector('#data-query').value`); !strings.HasPrefix(got, "from:") {
			t.Errorf("example %d is %q", i, got)
		}
		needs := evaluate[bool](p, `/param/.test(document.querySelector('#data-query').value)`)
		if shown := evaluate[bool](p, `!document.querySelector('#data-params-field').hidden`); shown != needs {
			t.Errorf("example %d: params shown %v, wanted %v", i, shown, needs)
		}
	}
	p.write("#data-query", "from: {name: mine}")
	p.run(chromedp.Reload())
	p.waitFor(`document.querySelector('#data-query')?.value === 'from: {name: mine}'`)
	p.clean(c)
}

func seesAHolderGo(_ *testing.T, c *companion, p *tab) {
	p.write("#data-holder", "shop")
	c.locked(func() { c.holders = strings.Replace(twoHolders, `"reach":"ok"`, `"reach":"down"`, 1) })
	p.ask("pass")
	p.waitForText("#data-reach", "not reachable")
	c.locked(func() { c.holders = `{"holders":[]}` })
	p.click("#data-run")
	p.waitFor(`!document.querySelector('#data-none').hidden && document.querySelector('#data-ask').hidden`)
	p.clean(c)
}

func runsByKeyboard(_ *testing.T, c *companion, p *tab) {
	p.run(chromedp.Focus("#data-query"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2))) // 2: Ctrl
	p.waitForText("#data-verdict", "pass")
	p.clean(c)
}

func staysWhenLost(_ *testing.T, c *companion, p *tab) {
	p.write("#data-query", "from: {name: mine}")
	c.stop()
	p.ask("not asked")
	p.wantText("#data-detail", "The companion did not answer.")
	p.waitFor(`document.querySelector('#data-query').value === 'from: {name: mine}'`)
	p.clean(c, lostConnection...)
}

func showsTheCount(t *testing.T, c *companion, p *tab) {
	for expect, want := range map[string]bool{"none": false, "nonEmpty": false, "empty": false, "exactRowCount": true, "minRowCount": true, "maxRowCount": true} {
		p.write("#data-expect", expect)
		if got := evaluate[bool](p, `!document.querySelector('#data-count').hidden`); got != want {
			t.Errorf("%s: a number shows: got %v, want %v", expect, got, want)
		}
	}
	p.clean(c)
}
