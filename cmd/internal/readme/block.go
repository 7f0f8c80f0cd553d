package readme

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// All returns every README.md of a tree, by its path.
func All(tree fs.FS) (map[string]string, error) {
	all := map[string]string{}
	err := fs.WalkDir(tree, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.Name() != "README.md" {
			return nil
		}
		text, err := fs.ReadFile(tree, file)
		all[file] = string(text)
		return err
	})
	return all, err
}

// A Block is a fenced block of a Markdown text.
type Block struct {
	file  string   // the README.md that has it, from the project's root
	line  int      // of its first line of content
	Info  []string // the words behind the opening fence
	Text  string
	marks []string // of the comment above it
}

// mark matches the comment above a block.
var mark = regexp.MustCompile(`^<!-- test: (.*) -->$`)

// at is where the block stands.
func (b *Block) at() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// Blocks returns the fenced blocks of the Markdown text of a file.
func Blocks(file, markdown string) (all []Block, err error) {
	var open *Block
	var above string
	for i, line := range strings.Split(markdown, "\n") {
		trimmed := strings.TrimSpace(line)
		fence, isFence := strings.CutPrefix(trimmed, "```")
		switch {
		case isFence && open == nil:
			open = &Block{file: file, line: i + 2, Info: strings.Fields(fence), marks: marksOf(above)}
		case isFence:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.Text += line + "\n"
		}
		if trimmed != "" {
			above = trimmed
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s: the block does not end", open.at())
	}
	return all, nil
}

// stray returns the numbers of the lines that begin with "$ " and are in no console block: nobody runs what they say.
func stray(markdown string) (lines []int) {
	kind := ""
	for i, line := range strings.Split(markdown, "\n") {
		trimmed := strings.TrimSpace(line)
		switch fence, isFence := strings.CutPrefix(trimmed, "```"); {
		case isFence && kind == "":
			kind = "fence " + fence
		case isFence:
			kind = ""
		case strings.HasPrefix(trimmed, "$ ") && kind != "fence console":
			lines = append(lines, i+1)
		}
	}
	return lines
}

func marksOf(above string) []string {
	found := mark.FindStringSubmatch(above)
	switch {
	case found == nil:
		return nil
	case strings.HasPrefix(found[1], "by "), strings.HasPrefix(found[1], "not here: "):
		return []string{found[1]}
	}
	return strings.Split(found[1], ", ")
}

func (b *Block) has(mark string) bool { return slices.Contains(b.marks, mark) }

// value returns what stands behind the name of a mark; "" where the block has none of it.
func (b *Block) value(name string) string {
	for _, m := range b.marks {
		if value, ok := strings.CutPrefix(m, name+" "); ok {
			return value
		}
	}
	return ""
}

// kind is the first word behind the fence.
func (b *Block) kind() string {
	if len(b.Info) == 0 {
		return ""
	}
	return b.Info[0]
}

// A command is a line behind "$ ", with those that a backslash joins to it, and what it prints.
type command struct {
	line   int
	text   string
	output []string
}

// commands returns those of a console block; of another one the whole text.
func (b *Block) commands() (all []command) {
	if b.kind() != "console" {
		return []command{{line: b.line, text: b.Text}}
	}
	joined := false
	for i, line := range strings.Split(strings.TrimSuffix(b.Text, "\n"), "\n") {
		text, begins := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		switch {
		case joined:
			all[len(all)-1].text += "\n" + line
			text = line
		case begins:
			all = append(all, command{line: b.line + i, text: text})
		case len(all) > 0:
			all[len(all)-1].output = append(all[len(all)-1].output, line)
		}
		joined = (begins || joined) && strings.HasSuffix(text, `\`)
	}
	return all
}

// numbers, with the unit of a time, are what may be another one each time; bar is one of a histogram.
var (
	numbers = regexp.MustCompile(`[0-9]+([.,:][0-9]+)*((ns|µs|ms|s)\b)?`)
	bar     = regexp.MustCompile(` #+ +[0-9]`)
)

// shape is a line without its numbers and the width of its columns; nothing of a histogram's line, of which there are
// more or fewer each time.
func shape(line string) string {
	if bar.MatchString(line) {
		return ""
	}
	return numbers.ReplaceAllString(strings.Join(strings.Fields(line), " "), "#")
}

// missing is the first line that was promised and not printed; "…" stands for any lines, and at the end of one for its
// rest.
func missing(promised []string, printed string) string {
	at := 0
	lines := strings.Split(printed, "\n")
	for _, line := range promised {
		want, begins := strings.CutSuffix(shape(line), "…")
		if want == "" {
			continue
		}
		i := slices.IndexFunc(lines[at:], func(line string) bool {
			got := shape(line)
			return got == want || begins && strings.HasPrefix(got, want)
		})
		if i < 0 {
			return line
		}
		at += i + 1
	}
	return ""
}
