package cassette

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"chatwright.dev/tray/server/hint"
)

// CodeMissing is the code of the error that answers a request nobody recorded.
const CodeMissing = "no_recording"

// Player answers requests from recordings. It is an http.Handler with the paths below an upstream's base URL.
type Player struct {
	speed float64
	tapes []Named

	mu   sync.Mutex
	next map[string]int // how often a request was answered, by its hash
}

// NewPlayer returns a player of the recordings in folder. At speed 1 an answer takes as long as it did, at 2 half of
// that; at 0 it comes at once.
func NewPlayer(folder string, speed float64) (*Player, error) {
	tapes, err := Load(folder)
	if err != nil {
		if hint.Of(err) == "" {
			err = hint.With(err, "see which are broken: chatwright-tray cassette verify "+folder)
		}
		return nil, err
	}
	if len(tapes) == 0 {
		return nil, hint.With(fmt.Errorf("there are no recordings in %s", folder), "record some first: chatwright-tray --record "+folder)
	}
	if speed < 0 {
		return nil, errors.New("the speed of a replay is negative")
	}
	return &Player{speed: speed, tapes: tapes, next: map[string]int{}}, nil
}

// ServeHTTP answers with the recording of that request. The same request asked again gets the next recording of it, and
// the last one for good; what was never recorded is a 502 that names the nearest recording.
func (p *Player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRecorded+1))
	if err != nil {
		panic(http.ErrAbortHandler) // nobody is there to be answered
	}
	asked := NewRequest(r.Method, r.URL.Path, r.URL.RawQuery, body, secretsOf(r)...)
	switch t, found := p.take(asked.Hash); {
	case found:
		p.play(w, r, t.Answer)
	case p.wantsModels(asked):
		p.listModels(w)
	default:
		p.miss(w, asked)
	}
}

func (p *Player) take(hash string) (Tape, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var same []Tape
	for _, n := range p.tapes {
		if n.Tape.Request.Hash == hash {
			same = append(same, n.Tape)
		}
	}
	if len(same) == 0 {
		return Tape{}, false
	}
	i := min(p.next[hash], len(same)-1)
	p.next[hash]++
	return same[i], true
}

// play gives the chunks as they came: each in one write, after as long as it took.
func (p *Player) play(w http.ResponseWriter, r *http.Request, a Answer) {
	for name, value := range a.Headers {
		w.Header().Set(name, value)
	}
	control := http.NewResponseController(w)
	for i, c := range a.Chunks {
		if p.speed > 0 && c.AfterMs > 0 && !wait(r, time.Duration(float64(c.AfterMs)/p.speed*float64(time.Millisecond))) {
			panic(http.ErrAbortHandler)
		}
		if i == 0 {
			w.WriteHeader(a.Status)
		}
		if _, err := w.Write(c.Bytes()); err != nil {
			panic(http.ErrAbortHandler)
		}
		_ = control.Flush()
	}
	if len(a.Chunks) == 0 {
		w.WriteHeader(a.Status)
	}
	if a.Truncated {
		panic(http.ErrAbortHandler)
	}
}

// wait reports false when the caller left meanwhile.
func wait(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// wantsModels says whether a list of models is asked for that nobody recorded. Where one was, another query is a miss, as
// for every request.
func (p *Player) wantsModels(asked Request) bool {
	if asked.Method != http.MethodGet || asked.Path != "/models" {
		return false
	}
	near, _ := nearest(asked, p.tapes)
	return asked.Query == "" || near == ""
}

// listModels lists the models that recordings were made of, for callers that ask before they choose.
func (p *Player) listModels(w http.ResponseWriter) {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		OwnedBy string `json:"owned_by"`
	}
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{"list", []model{}}
	for _, n := range p.tapes {
		id := n.Tape.Request.Model()
		if id != "" && !slices.ContainsFunc(list.Data, func(m model) bool { return m.ID == id }) {
			list.Data = append(list.Data, model{id, "model", "recordings"})
		}
	}
	writeJSON(w, http.StatusOK, list)
}

// miss says what was not recorded, and how the nearest recording differs.
func (p *Player) miss(w http.ResponseWriter, asked Request) {
	text := fmt.Sprintf("no recording answers this request (%s %s)", asked.Method, asked.Target())
	if near, where := nearest(asked, p.tapes); near != "" {
		text += "; the nearest is " + near + ", which differs in " + strings.Join(where, " and in ")
	}
	var e struct {
		Error struct {
			Message string  `json:"message"`
			Type    string  `json:"type"`
			Param   *string `json:"param"`
			Code    string  `json:"code"`
		} `json:"error"`
	}
	e.Error.Message, e.Error.Type, e.Error.Code = text, "upstream_error", CodeMissing
	writeJSON(w, http.StatusBadGateway, e)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}
