// Package plot draws lines over time, or over another value, as SVG.
package plot

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"slices"
	"time"
)

// A Series is one line of a Panel.
type Series struct {
	Name   string
	First  int       // index of Panel.At at which the line begins
	Values []float64 // from 0 on
}

// A Panel is lines over the same values, such as times.
type Panel struct {
	Title string
	At    []int64            // what the values of the lines are at, rising
	From  string             // what stands at the left edge, where At would be 0; empty: 0
	Unit  func(int64) string // writes the last of At
	Lines []Series
	Top   float64 // the value at the top; 0: the largest of all
}

// Width is that of a picture of panels, in pixels.
const Width = 980

// Measures of a panel, in pixels.
const (
	panelHeight = 170
	panelGap    = 60
	lineHeight  = 14
	mostLines   = panelHeight / lineHeight // of a panel
)

// A layout is where a panel has its lines, and their names.
type layout struct {
	left, right int  // edges of the lines
	below       bool // names stand in two columns below the lines, not to their right
}

var (
	beside  = layout{left: 70, right: 760}
	beneath = layout{left: 44, right: 470, below: true}
)

// beneathWidth is the width of a panel with names beneath, and of a window of 500 pixels without its edges.
const beneathWidth = 480

func (l layout) name(i, y int) (x, row int) {
	if l.below {
		return l.left + i%2*(l.right-l.left)/2, y + panelHeight + 36 + i/2*lineHeight
	}
	return l.right + 20, y + lineHeight*(i+1) - 4
}

var palette = [...]string{"#1b6ca8", "#cc6b2c", "#6aa84f", "#a83279", "#e6b422", "#5b5b9f", "#2aa198", "#b22222",
	"#888888", "#7a4a1f", "#00a0e0", "#d070d0"}

// A Picture is an SVG that is being written.
type Picture struct{ bytes.Buffer }

// Text writes s at x and y. The anchor is start, middle or end.
func (p *Picture) Text(x, y, size int, anchor, s string) {
	fmt.Fprintf(p, `<text x="%d" y="%d" font-size="%d" text-anchor="%s">`, x, y, size, anchor)
	_ = xml.EscapeText(p, []byte(s)) // a buffer takes everything
	p.WriteString("</text>\n")
}

// Duration writes ns.
func Duration(ns int64) string { return time.Duration(ns).Round(time.Microsecond).String() }

// Draw writes panels as an SVG, one below the other.
func Draw(out io.Writer, title string, panels []Panel) error {
	var p Picture
	p.Text(10, 22, 15, "start", title)
	y := 60
	for i := range panels {
		p.panel(y, &panels[i], beside)
		y += panelHeight + panelGap
	}
	return p.WriteSVG(out, Width, y)
}

// WriteSVG writes the whole SVG, in black on white.
func (p *Picture) WriteSVG(out io.Writer, width, height int) error {
	_, err := fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif">`+
		"\n"+`<rect width="100%%" height="100%%" fill="white"/>`+"\n%s</svg>\n", width, height, p.Bytes())
	return err
}

// SVG returns a panel for a page, as wide as its place there, in the page's colours.
func (panel *Panel) SVG() string {
	var p Picture
	height := p.panel(24, panel, beneath)
	return fmt.Sprintf(`<svg viewBox="0 0 %d %d" role="img" aria-label="%s" data-top="%g">`+"\n%s</svg>\n", beneathWidth,
		height, html.EscapeString(panel.Title), panel.top(), p.Bytes())
}

// panel draws a panel from y on downwards and returns where it ends: of its lines those with the largest values, as far
// as there is room for names.
func (p *Picture) panel(y int, panel *Panel, l layout) (end int) {
	title := panel.Title
	shown := slices.DeleteFunc(slices.Clone(panel.Lines), func(s Series) bool { return s.Most() <= 0 })
	if len(shown) > mostLines {
		slices.SortStableFunc(shown, func(a, b Series) int { return cmp.Compare(b.Most(), a.Most()) })
		title += fmt.Sprintf(" (the %d largest of %d)", mostLines, len(shown))
		shown = shown[:mostLines]
	}
	last := int64(1)
	if n := len(panel.At); n > 0 {
		last = max(1, panel.At[n-1])
	}
	p.Text(l.left, y-8, 13, "start", title)
	bottom := y + panelHeight
	fmt.Fprintf(p, `<path d="M%d %dV%dH%d" fill="none" stroke="currentColor"/>`+"\n", l.left, y, bottom, l.right)
	p.Text(l.left, bottom+16, 10, "middle", cmp.Or(panel.From, "0"))
	p.Text(l.right, bottom+16, 10, "end", panel.Unit(last))
	if len(shown) == 0 {
		p.Text(l.left+10, bottom-10, 11, "start", "nothing")
		return bottom + lineHeight + 10
	}
	top := panel.top()
	p.Text(l.left-6, y+10, 10, "end", number(top))
	p.Text(l.left-6, bottom, 10, "end", "0")
	for i, s := range shown {
		colour := palette[i%len(palette)]
		fmt.Fprintf(p, `<g><polyline fill="none" stroke="%s" points="`, colour)
		for k, v := range s.Values {
			at := float64(panel.At[s.First+k]) / float64(last)
			fmt.Fprintf(p, "%.1f,%.1f ", float64(l.left)+float64(float64(l.right-l.left)*at),
				float64(bottom)-float64(float64(panelHeight)*min(1, v/top)))
		}
		x, row := l.name(i, y)
		fmt.Fprintf(p, `"/><rect x="%d" y="%d" width="10" height="4" fill="%s"/>`, x, row-6, colour)
		p.Text(x+16, row, 11, "start", s.Name)
		p.WriteString("</g>\n")
		end = row + lineHeight
	}
	return end
}

// Most is the largest value, at least 0.
func (s *Series) Most() float64 {
	if len(s.Values) == 0 {
		return 0
	}
	return max(0, slices.Max(s.Values))
}

func (panel *Panel) top() float64 { return cmp.Or(panel.Top, Most(panel.Lines)) }

// Most is the largest value of several lines, at least 0.
func Most(lines []Series) (most float64) {
	for i := range lines {
		most = max(most, lines[i].Most())
	}
	return most
}

// number writes four digits of a number that is above 0, or all of those before the point where they are more.
func number(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}
