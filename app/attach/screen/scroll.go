package screen

import "chatwright.dev/tray/app/attach/transcript"

// Scroll moves the transcript by so many rows, down or, where rows is negative, up. At its end it follows what comes.
func (s *State) Scroll(rows int) {
	v, height := s.view(), s.height()
	bottom := s.Transcript.Bottom(height, v)
	from := s.top
	if !s.scrolled {
		from = bottom
	}
	s.show(s.Transcript.Move(from, rows, v), bottom)
}

// Page moves by a window, with two rows of the one before.
func (s *State) Page(down bool) {
	rows := max(s.height()-2, 1)
	if !down {
		rows = -rows
	}
	s.Scroll(rows)
}

// Begin shows the first row.
func (s *State) Begin() {
	s.show(transcript.Place{}, s.Transcript.Bottom(s.height(), s.view()))
}

// End shows the last row, and follows what comes.
func (s *State) End() { s.scrolled = false }

// Resize makes the frame another size. The place that was looked at stays about where it is.
func (s *State) Resize(columns, rows int) {
	s.Columns, s.Rows = max(columns, 1), max(rows, 1)
	if s.scrolled {
		s.Scroll(0)
	}
}

// FindAgain goes to the next row that holds the text looked for, or upwards to the one before.
func (s *State) FindAgain(up bool) {
	from := s.Search.hit
	if !s.Search.found {
		from = transcript.Place{Entry: s.Transcript.Dropped() + s.Transcript.Len()} // the latest is what one looks for
	}
	s.Search.hit, s.Search.found = s.Transcript.Find(s.Search.Text, from, up, s.view())
	if s.Search.found {
		v, height := s.view(), s.height()
		s.show(s.Transcript.Move(s.Search.hit, -height/2, v), s.Transcript.Bottom(height, v))
	}
}

// EndSearch forgets what was looked for.
func (s *State) EndSearch() { s.Search = Search{} }

// show begins the window at a place, if there are enough rows below it.
func (s *State) show(top, bottom transcript.Place) {
	s.scrolled = top.Entry < bottom.Entry || top.Entry == bottom.Entry && top.Line < bottom.Line
	s.top = top
}

// height is how many rows of the transcript are shown.
func (s *State) height() int {
	input, _, _ := s.input()
	return s.windowRows(len(input))
}
