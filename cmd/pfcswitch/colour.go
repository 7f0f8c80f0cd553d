package main

import (
	"io"
	"os"
	"regexp"
	"strings"
)

// red and amber are the colours of lost frames, and of those that were discarded on purpose.
const red, amber = "\x1b[31m", "\x1b[33m"

// inColour returns the function that colours a text for out: none where that is no terminal, or nobody wants colours.
func inColour(out io.Writer, colour func(string) string) func(string) string {
	if out == os.Stdout && terminal(os.Stdout) && os.Getenv("NO_COLOR") == "" {
		return colour
	}
	return func(text string) string { return text }
}

// losing are lines about what loses frames.
var losing = regexp.MustCompile(`(?m)^(?:\d+\. )?ERROR .*$`)

// reddened shows lines about what loses frames in red.
func reddened(text string) string { return losing.ReplaceAllString(text, red+"$0\x1b[0m") }

// Figures of lossless frames that did not arrive: in the first line of an answer, and at the end of columns.
var (
	lostFigure      = regexp.MustCompile(`(?m)^lossless drops: [1-9][0-9,]*`)
	discardedFigure = regexp.MustCompile(`(?m)^(.*; )(discarded on purpose: [1-9][0-9,]*)`)
	lossColumn      = regexp.MustCompile(` (LOST|DISCARDED)\b`)
)

// tinted shows in red what was lost of lossless priorities, and in amber what was discarded on purpose.
func tinted(text string) string {
	lines := strings.Split(text, "\n")
	var heads [][]int // of the columns of the table in which a line is, the last one first
	var title string
	for i, line := range lines {
		if strings.HasPrefix(line, "PORT ") {
			title, heads = line, lossColumn.FindAllStringIndex(line, -1)
			continue
		}
		if line == "" {
			heads = nil
		}
		for n := len(heads) - 1; n >= 0; n-- {
			colour := red
			if strings.HasPrefix(title[heads[n][0]:], " DISCARDED") {
				colour = amber
			}
			lines[i] = tintedAt(lines[i], heads[n][1], colour)
		}
	}
	text = lostFigure.ReplaceAllString(strings.Join(lines, "\n"), red+"$0\x1b[0m")
	return discardedFigure.ReplaceAllString(text, "$1"+amber+"$2\x1b[0m")
}

// tintedAt colours the number that ends at a place of a line, in characters, where it is not 0.
func tintedAt(line string, end int, colour string) string {
	r := []rune(line)
	if end > len(r) {
		return line
	}
	before := string(r[:end])
	from := strings.LastIndex(before, " ") + 1
	if number := before[from:]; number != "" && strings.Trim(number, "123456789") != number {
		return before[:from] + colour + number + "\x1b[0m" + string(r[end:])
	}
	return line
}
