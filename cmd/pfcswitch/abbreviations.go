package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// expandWords expands the abbreviated words of a command line. A word stands for the only command or noun that begins
// with it. The error for an ambiguous word names the candidates, the error for an unknown word names similar ones. A
// noun of "show" may stand alone, or before the word "show".
func expandWords(root *cobra.Command, args []string) ([]string, error) {
	addOwn(root)
	c, path := root, ""
	nounAlone := false
	var out []string
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "--":
			return append(out, args[i:]...), nil
		case len(word) > 1 && word[0] == '-':
			value := i+1 < len(args) && takesValue(c, word)
			if i+1 < len(args) && (word == "--"+watchFlag || word == "-w") && c.Flag(watchFlag) != nil {
				_, err := parseInterval(args[i+1])
				switch {
				case err == nil:
					word, i = "--"+watchFlag+"="+args[i+1], i+1
				case strings.ContainsAny(args[i+1][:min(1, len(args[i+1]))], ".0123456789"):
					// no word behind it begins so
					return nil, fmt.Errorf("%s %w", word, err)
				}
			}
			if out = append(out, word); value {
				i++
				out = append(out, args[i])
			}
		case nounAlone && word == "show":
			nounAlone = false
			if last := len(out) - 1; out[last] == "--"+watchFlag || out[last] == "-w" { // what follows is not its value
				out[last] = "--" + watchFlag + "=" + c.Flag(watchFlag).NoOptDefVal
			}
		case c.HasSubCommands() && (!takesFile(c) || commandNamed(c, word) != nil):
			next, err := matchCommand(c, path, word)
			if err != nil {
				return nil, err
			}
			if next.Parent() != c {
				nounAlone, path = true, next.Parent().Name()
				out = append(out, path)
			}
			c, path = next, strings.TrimSpace(path+" "+next.Name())
			if out = append(out, next.Name()); next.Name() == "help" {
				c, path = root, ""
			}
		default:
			if names := matchPrefix(c.ValidArgs, word); len(names) == 1 {
				word = names[0]
			}
			out = append(out, word)
		}
	}
	return out, nil
}

// takesFile reports whether a command that has others below it takes a file too. The others have to be written out
// then.
func takesFile(c *cobra.Command) bool { return strings.HasPrefix(c.Use, c.Name()+" FILE") }

// commandNamed returns the command below c with a name, nil where there is none.
func commandNamed(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == name || sub.HasAlias(name) {
			return sub
		}
	}
	return nil
}

// matchCommand returns the command below c for a word.
func matchCommand(c *cobra.Command, path, word string) (*cobra.Command, error) {
	if sub := commandNamed(c, word); sub != nil {
		return sub, nil
	}
	byName := map[string]*cobra.Command{}
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			byName[sub.Name()] = sub
			names = append(names, sub.Name())
		}
	}
	slices.Sort(names)
	at := strings.TrimSpace(path + " " + word)
	switch found := matchPrefix(names, word); {
	case len(found) == 1:
		return byName[found[0]], nil
	case len(found) > 1:
		return nil, fmt.Errorf("%s: that may be %s: write more of it", at, strings.Join(found, ", "))
	}
	if noun, err := matchNoun(c, word); noun != nil || err != nil {
		return noun, err
	}
	c.SuggestionsMinimumDistance = 2
	if like := c.SuggestionsFor(word); len(like) > 0 {
		return nil, fmt.Errorf("%s: there is no such command: did you mean %s? There are %s", at,
			strings.Join(like, " or "), strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("%s: there is no such command: there are %s", at, strings.Join(names, ", "))
}

// matchNoun returns the noun of "show" for a word in place of a command; nil where there is none.
func matchNoun(c *cobra.Command, word string) (*cobra.Command, error) {
	if c.HasParent() {
		return nil, nil
	}
	show, _, err := c.Find([]string{"show"})
	if err != nil || show == c {
		return nil, nil
	}
	for _, noun := range show.Commands() {
		if strings.HasPrefix(noun.Name(), word) || noun.HasAlias(word) {
			return matchCommand(show, "", word)
		}
	}
	return nil, nil
}

// matchPrefix returns the names that begin with a word. Where all others are the shortest name with a suffix, as
// buffer-pool is of buffer, it returns only the shortest.
func matchPrefix(names []string, word string) []string {
	var found []string
	for _, name := range names {
		if strings.HasPrefix(name, word) {
			found = append(found, name)
		}
	}
	if len(found) < 2 {
		return found
	}
	shortest := slices.MinFunc(found, func(a, b string) int { return len(a) - len(b) })
	for _, name := range found {
		if name != shortest && !strings.HasPrefix(name, shortest+"-") {
			return found
		}
	}
	return []string{shortest}
}

// takesValue tells whether the word after a flag is its value.
func takesValue(c *cobra.Command, word string) bool {
	if name, long := strings.CutPrefix(word, "--"); long {
		f := c.Flag(name)
		return f != nil && f.NoOptDefVal == ""
	}
	for i, letter := range word[1:] {
		f := shorthand(c, string(letter))
		if f == nil {
			return false
		}
		if f.NoOptDefVal == "" {
			return i == len(word)-2
		}
	}
	return false
}

func shorthand(c *cobra.Command, letter string) (found *pflag.Flag) {
	for ; c != nil && found == nil; c = c.Parent() {
		if found = c.Flags().ShorthandLookup(letter); found == nil {
			found = c.PersistentFlags().ShorthandLookup(letter)
		}
	}
	return found
}

// watchFlag is the flag whose value may be the next word, or be left out.
const watchFlag = "watch"

// parseInterval reads a number of seconds or a duration.
func parseInterval(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if seconds, wrong := strconv.ParseFloat(text, 64); wrong == nil {
		d, err = time.Duration(min(max(seconds, 0), 1e9)*float64(time.Second)), nil
	}
	if err != nil || d < 100*time.Millisecond || d > 24*time.Hour {
		return 0, fmt.Errorf("%s: write seconds, or a time such as 500ms, from 100ms to 24h", text)
	}
	return d, nil
}
