package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pfcswitch/cmd/internal/readme"
	"pfcswitch/dataplane/assert"
)

func topReadme(t *testing.T) string {
	t.Helper()
	return readmes(t)["README.md"]
}

// readmes returns every README.md of the project, by its path from the root.
func readmes(t *testing.T) map[string]string {
	t.Helper()
	return assert.Got(readme.All(os.DirFS("../.."))).Must(t)
}

var code = regexp.MustCompile("`([^`]+)`")

// quoted are the words between backticks in a text, blocks left out.
func quoted(markdown string) (all []string) {
	for i, part := range strings.Split(markdown, "```") {
		if i%2 == 1 {
			continue
		}
		for _, m := range code.FindAllStringSubmatch(part, -1) {
			all = append(all, strings.Join(strings.Fields(m[1]), " "))
		}
	}
	return all
}

// known returns the command that words stand for. Words in capitals, or in brackets, stand for others.
func known(words []string) (*cobra.Command, error) {
	root := rootCommand()
	args, err := expandWords(root, words)
	if err != nil {
		return nil, err
	}
	c, rest, err := root.Find(args)
	if err != nil {
		return nil, err
	}
	c.InitDefaultHelpFlag()
	for _, word := range rest {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		flag := c.Flag(name)
		if len(word) == 2 && word[0] == '-' && name != "" {
			flag = shorthand(c, name)
		}
		if strings.HasPrefix(word, "-") && word != "-" && flag == nil {
			return nil, fmt.Errorf("%s has no flag %s", c.CommandPath(), word)
		}
		if placeholder := word == strings.ToUpper(word); len(c.ValidArgs) > 0 && !placeholder &&
			!slices.Contains(c.ValidArgs, word) && flag == nil {
			return nil, fmt.Errorf("%s: %s is none of %v", c.CommandPath(), word, c.ValidArgs)
		}
	}
	return c, nil
}

// Every command in the texts, outside of blocks, is one that the program has, with flags that it has.
func TestReadmeCommands(t *testing.T) {
	found := 0
	for file, markdown := range readmes(t) {
		for _, text := range quoted(markdown) {
			words := strings.Fields(strings.TrimPrefix(text, "sudo "))
			if len(words) == 0 {
				continue
			}
			program := words[0] == "pfcswitch" || words[0] == "./pfcswitch"
			if program {
				words = words[1:]
			}
			if c, _, err := rootCommand().Find(words[:min(1, len(words))]); !program &&
				(err != nil || !c.HasParent() || len(words) < 2) {
				continue
			}
			found++
			_, err := known(words)
			assert.True(t, err == nil || slices.Contains(words, "NOUN"), "%s: `%s`: %v", file, text, err)
		}
	}
	assert.True(t, found >= 40, "only %d commands are in the texts", found)
}

// flagTables returns how often the tables "| command | flags | |" of all READMEs have a flag, by "command --flag".
func flagTables(t *testing.T) map[string]int {
	documented := map[string]int{}
	for file, markdown := range readmes(t) {
		_, table, _ := strings.Cut(markdown, "\n| command | flags | |\n|---|---|---|\n")
		table, _, _ = strings.Cut(table, "\n\n")
		for row := range strings.Lines(table) {
			cells := strings.Split(row, " | ")
			for _, text := range quoted(strings.TrimPrefix(cells[0], "| ")) {
				c, err := known(strings.Fields(text))
				if err != nil {
					t.Errorf("%s: `%s`: %v", file, text, err)
					continue
				}
				for _, flag := range quoted(cells[1]) {
					documented[c.CommandPath()+" "+strings.Fields(flag)[0]]++
				}
			}
		}
	}
	return documented
}

// Every flag of every command stands in one table, and no other does.
func TestReadmeFlags(t *testing.T) {
	documented := flagTables(t)
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "completion" || c.Name() == "help" {
			return
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			key := c.CommandPath() + " --" + f.Name
			if f.Hidden || f.Name == "help" {
				return
			}
			assert.Equal(t, documented[key], 1, "tables of READMEs have the flag %s: %s", key, f.Usage)
			delete(documented, key)
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(rootCommand())
	for key := range documented {
		t.Errorf("a table of a README has the flag %s, which does not exist", key)
	}
}

// commandTable returns the commands of the README's table, each as the words that its row says.
func commandTable(t *testing.T) (all [][]string) {
	t.Helper()
	_, text, found := strings.Cut(topReadme(t), "| command | what it does |\n|---|---|\n")
	assert.MustBeTrue(t, found, "README.md has no table of commands")
	text, _, _ = strings.Cut(text, "\n\n")
	for row := range strings.Lines(text) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		var first []string
		for _, text := range quoted(cell) {
			words := strings.Fields(text)
			if first == nil {
				first = words
			} else if c, _, err := rootCommand().Find(words); err != nil || !c.HasParent() || first[0] == "show" {
				words = []string{first[0], words[0]} // more of the row's first command
			}
			all = append(all, words)
		}
	}
	return all
}

// The table of commands has all that the program has, and nothing else.
func TestReadmeCommandTable(t *testing.T) {
	documented := map[string]bool{}
	for _, words := range commandTable(t) {
		c, err := known(words)
		if err != nil {
			t.Errorf("README.md: `%s`: %v", strings.Join(words, " "), err)
			continue
		}
		documented[c.CommandPath()] = true
		for _, word := range words[1:] {
			documented[c.CommandPath()+" "+word] = true
		}
	}
	want := func(path, short string) {
		assert.True(t, documented[path], "README.md: the table of commands has no %s: %s", path, short)
	}
	for _, c := range rootCommand().Commands() {
		for _, sub := range c.Commands() {
			// SONiC's words have a sentence of their own
			if sub.IsAvailableCommand() && sub.Name() != "priority-group" && sub.Name() != "buffer-pool" {
				want(sub.CommandPath(), sub.Short)
			}
		}
		if !c.HasSubCommands() && c.IsAvailableCommand() {
			want(c.CommandPath(), c.Short)
		}
		for _, arg := range c.ValidArgs {
			want(c.CommandPath()+" "+arg, c.Short)
		}
	}
	assert.True(t, len(documented) >= 40, "only %d commands are in the table", len(documented))
}

func TestKnown(t *testing.T) {
	for text, want := range map[string]string{
		"show pfc --watch 2 -j": "", "sh po": "", "send eth0 --storm 3 --duty 90": "", "clear counters": "", "demo": "",
		"lab up FILE": "", "apply FILE": "",
		"show pfc --wtch":      "show pfc has no flag --wtch",
		"clear everything":     "everything is none of",
		"linkcheck -q":         "has no flag -q",
		"demo indeed --full":   "indeed is none of",
		"gossip":               "there is no such command",
		"show priority-groups": "there is no such command",
	} {
		_, err := known(strings.Fields(text))
		assert.True(t, (err != nil) == (want != "") && (err == nil || strings.Contains(err.Error(), want)),
			"%s: %v, want %q", text, err, want)
	}
}
