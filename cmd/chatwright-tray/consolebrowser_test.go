//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"chatwright.dev/tray/server/protocol"
	"chatwright.dev/tray/server/servertest"
	"chatwright.dev/tray/server/servertest/browsertest"
)

// callerKey is what no recording may hold.
const callerKey = "sk-MARKED-OF-THE-CALLER"

// consolePage is a tab with the console of the real program, whose model server says each piece when it is told to.
type consolePage struct {
	*watchedTab
	c    *companion
	next chan struct{}
	test *testing.T // the whole of it, of which each step is a part
}

// call begins a streamed call with a question. What came of it is sent once it has ended.
func (p *consolePage) call(question string) <-chan string {
	p.t.Helper()
	body := fmt.Sprintf(`{"model":"scripted-1","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":%q}]}`, question)
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.c.url("/v1/chat/completions"), strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+callerKey)
	came := make(chan string, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			came <- err.Error()
			return
		}
		defer func() { _ = resp.Body.Close() }()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			answer = append(answer, err.Error()...)
		}
		came <- string(answer)
	}()
	return came
}

// let lets the model server say n pieces more.
func (p *consolePage) let(n int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	for range n {
		select {
		case p.next <- struct{}{}:
		case <-ctx.Done():
			p.t.Fatal("nobody waits for the next piece of an answer")
		}
	}
}

// wantWhole waits for the end of a call, which must be all that the model server said.
func (p *consolePage) wantWhole(came <-chan string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	select {
	case got := <-came:
		if want := strings.Join(scriptedAnswer, ""); got != want {
			p.t.Errorf("the caller got %q, want %q", got, want)
		}
	case <-ctx.Done():
		p.t.Fatal("the call does not end")
	}
}

func (p *consolePage) enter(room string) {
	p.t.Helper()
	p.run(chromedp.Click(fmt.Sprintf(`nav a[href="#/%s"]`, room)))
	p.waitFor(fmt.Sprintf(`document.querySelector('#page-%s')?.hidden === false`, room))
}

func (p *consolePage) waitForText(selector, want string) {
	p.t.Helper()
	p.waitFor(fmt.Sprintf(`document.querySelector(%q)?.innerText === %q`, selector, want))
}

func (p *consolePage) choose(selector, value string) {
	p.t.Helper()
	inTab[any](p.watchedTab, fmt.Sprintf(`(() => { const of = document.querySelector(%q); of.value = %q; of.dispatchEvent(new Event('change')) })()`, selector, value))
}

var scriptedAnswer = servertest.Answer("A table for two", 5) // three pieces, and three that end it

// A person clicks through the console of the real program, while real calls pass.
func TestConsoleInABrowser(t *testing.T) {
	chrome := browsertest.Start(t)
	next := make(chan struct{})
	provider := servertest.NewProvider(t, map[string]servertest.Scenario{"talk": {Pieces: scriptedAnswer, Next: next, Models: `{"data":[{"id":"scripted-1"}]}`}})
	u := newUser(t, "CHATWRIGHT_SERVER_UPSTREAM="+provider.BaseURL("talk"))
	p := &consolePage{openTab(chrome, t), u.launch("--headless"), next, t}
	p.run(chromedp.EmulateViewport(1280, 1000), chromedp.Navigate(p.c.url("/console/")))
	p.waitForText("#phase", "Running")
	for _, step := range []struct {
		name string
		do   func(*testing.T, *consolePage)
	}{
		{"a call is seen as it happens", seesACall},
		{"messages are kept, read, copied and downloaded", keepsReadsAndDownloads},
		{"they are forgotten, and no more are kept", forgetsAndStops},
		{"a server that was started just now is found and used", findsAndUses},
		{"it is talked to", talksToTheModel},
		{"the doctor looks", hasTheDoctorLook},
	} {
		if !t.Run(step.name, func(t *testing.T) { p.t = t; step.do(t, p) }) {
			break
		}
	}
	p.t = t
	p.wantClean(p.c.url(""), "blob:"+p.c.url(""))
}

func seesACall(t *testing.T, p *consolePage) {
	p.waitForText("#tiles .calls .value", "0")
	came := p.call("For two, please")
	p.waitForText("#tiles .inFlight .value", "1")
	p.let(len(scriptedAnswer) - 1)
	p.wantWhole(came)
	p.waitForText("#tiles .inFlight .value", "0")
	p.waitForText("#tiles .calls .value", "1")
	p.waitForText("#tiles .tokens .value", "3")
	p.photograph("console overview")
	p.enter("calls")
	p.waitForText(".window .call .model", "scripted-1")
	p.waitForText(".window .call .verdict", "complete")
	p.run(chromedp.Click(".window .call"))
	p.waitForText("#call-detail h2", "scripted-1")
	for _, fact := range []string{"Prompt tokens 12", "Answer tokens 3", "Finish reason stop", "Streamed yes", "Status 200"} {
		p.waitFor(fmt.Sprintf(`document.querySelector('#call-facts').innerText.replace(/\s+/g, ' ').includes(%q)`, fact))
	}
	p.waitForText("#call-content", "What was said was not kept. To see it for new calls, keep messages.")
	if got := inTab[bool](p.watchedTab, `document.querySelector('#capturing').hidden`); !got {
		t.Error("a banner shows although nothing is kept")
	}
	p.run(chromedp.Click("#call-detail .square")) // it would be asked for once something is kept, and is a 404
}

func keepsReadsAndDownloads(t *testing.T, p *consolePage) {
	p.choose("#capture-mode", "memory")
	p.waitFor(`!document.querySelector('#capturing').hidden`)
	if got := p.c.run("status"); !strings.Contains(got.stdout, "kept in memory") {
		t.Errorf("status does not say that messages are kept: %+v", got)
	}
	came := p.call("It's for two, at eight")
	p.let(len(scriptedAnswer) - 1)
	p.wantWhole(came)
	p.waitFor(`document.querySelectorAll('.window .call').length === 2`)
	p.waitFor(`document.querySelector('#capturing-text').innerText.startsWith('Messages are being kept in memory: 1 call, ')`)
	p.run(chromedp.Click(".window .call"))
	p.waitFor(`document.querySelector('#call-request')?.innerText.includes("It's for two, at eight")`)
	answer := inTab[string](p.watchedTab, `document.querySelector('#call-answer').textContent`)
	if !strings.Contains(answer, `"content":"A tab"`) || !strings.Contains(answer, "[DONE]") {
		t.Errorf("the answer that is shown: %q", answer)
	}
	p.photograph("console kept")
	p.download(t)
	p.copyAsCurl(t)
}

// download wants the recording on the disk, as the program itself finds it whole.
func (p *consolePage) download(t *testing.T) {
	folder := t.TempDir()
	p.run(
		browsertest.Command(browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: folder}), //nolint:misspell // the name of the protocol
		chromedp.Click("#call-content > .bar button:nth-of-type(2)"),
	)
	id := inTab[string](p.watchedTab, `decodeURIComponent(location.hash.split('/').pop())`)
	path := filepath.Join(folder, id+".json")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got outcome
	for { // Chromium gives a file its name once it is whole
		if got = p.c.run("cassette", "verify", path); got.code == exitOK {
			break
		}
		if !pause(ctx) {
			t.Fatalf("the recording is not whole: %+v", got)
		}
	}
	if !strings.Contains(got.stderr, "1 recording, all whole") {
		t.Errorf("cassette verify: %+v", got)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"It's for two, at eight", "A tab", "scripted-1", "[DONE]"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the recording lacks %q: %s", want, text)
		}
	}
	if strings.Contains(string(text), "MARKED") || strings.Contains(inTab[string](p.watchedTab, `document.body.textContent`), "MARKED") {
		t.Error("the key of the caller was kept")
	}
}

// copyAsCurl runs what was copied, as a person does in a shell: it is the same call once more.
func (p *consolePage) copyAsCurl(t *testing.T) {
	curl := servertest.Need(t, "curl", "curl")
	p.run(
		browsertest.Command(browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: "clipboard-read"}, Setting: browser.PermissionSettingGranted,
		}),
		chromedp.Click("#call-content > .bar button:nth-of-type(1)"),
	)
	p.waitForText("#call-content > .bar button:nth-of-type(1)", "Copied")
	command := inTab[string](p.watchedTab, `navigator.clipboard.readText()`)
	came := make(chan string, 1)
	go func() {
		answer, err := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(command, "curl ", curl+" -sSN --fail ", 1)).CombinedOutput()
		if err != nil {
			answer = append(answer, err.Error()...)
		}
		came <- string(answer)
	}()
	p.let(len(scriptedAnswer) - 1)
	p.wantWhole(came)
	p.waitFor(`document.querySelectorAll('.window .call').length === 3`)
}

func forgetsAndStops(t *testing.T, p *consolePage) {
	p.run(chromedp.Click("#capture-forget"))
	p.waitForText("#call-content", "What was said in this call was not kept.")
	p.waitFor(`document.querySelector('#capturing-text').innerText.startsWith('Messages are being kept in memory: 0 calls, ')`)
	p.run(chromedp.Click("#capturing-off"))
	p.waitFor(`document.querySelector('#capturing').hidden`)
	p.waitForText("#call-content", "What was said was not kept. To see it for new calls, keep messages.")
	if got := p.c.run("status"); strings.Contains(got.stdout, "kept in memory") {
		t.Errorf("status says that messages are kept: %+v", got)
	}
	if got := inTab[string](p.watchedTab, `document.body.textContent`); strings.Contains(got, "at eight") {
		t.Error("what was said is still in the page")
	}
}

func findsAndUses(_ *testing.T, p *consolePage) {
	p.enter("overview")
	p.waitFor(`document.querySelectorAll('#upstreams-list li').length === 2`) // the one in use, and the demo
	fakeOllama(p.test, servertest.Said("by ")+servertest.Said("the fake")+servertest.Finished("stop")+servertest.Done)
	p.run(chromedp.Click("#upstreams-look"))
	const use = `[data-use="http://localhost:11434/v1"]`
	p.waitFor(fmt.Sprintf(`document.querySelector('%s')`, use))
	came := p.call("Am I cut off?")
	p.let(1)
	p.waitForText("#tiles .inFlight .value", "1")
	inTab[any](p.watchedTab, fmt.Sprintf(`document.querySelector('%s').click()`, use)) // the list may be drawn anew at any time
	p.waitForText("#upstreams-list [aria-current] .name", "Ollama")
	p.waitForText("#upstream", "Ollama")
	p.waitForText("#reach", "reachable")
	p.let(len(scriptedAnswer) - 2) // a call in flight goes on where it began
	p.wantWhole(came)
	p.c.awaitStatus("Ollama in use", func(s protocol.Status) bool {
		return s.Upstream.BaseURL == "http://localhost:11434/v1" && s.Metrics.InFlight == 0
	})
	p.photograph("console upstreams")
}

func talksToTheModel(_ *testing.T, p *consolePage) {
	p.enter("try")
	p.waitFor(`document.querySelector('#try-model').value === 'm'`)
	p.run(chromedp.SendKeys("#try-text", "Who are you?"), chromedp.Click("#try-send"))
	p.waitForText("#try-talk .said:last-child .words", "by the fake")
	p.waitFor(`document.querySelector('#try-talk .end')?.innerText.includes('first token')`)
	p.waitForText("#try-send", "Send")
}

func hasTheDoctorLook(t *testing.T, p *consolePage) {
	p.enter("doctor")
	p.waitFor(`/^(All \d+ checks are fine|\d+ checks: .+)\.$/.test(document.querySelector('#doctor-sum').innerText)`)
	checks := inTab[[]string](p.watchedTab, `[...document.querySelectorAll('#doctor-checks li')].map((row) => row.innerText.replace(/\s+/g, ' '))`)
	all := strings.Join(checks, "\n")
	for _, want := range []string{p.c.status.Addr + " is served", "Ollama"} {
		if !strings.Contains(all, want) {
			t.Errorf("the checks lack %q:\n%s", want, all)
		}
	}
	if fine := inTab[int](p.watchedTab, `[...document.querySelectorAll('#doctor-checks li')].filter((row) => row.querySelector('.state').innerText.trim() === 'fine' && row.querySelector('button')).length`); fine != 0 {
		t.Errorf("%d checks that are fine have something to copy:\n%s", fine, all)
	}
	p.photograph("console doctor")
}
