package bench

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// columns are the switches in the order of the table.
var columns = append(slices.Clone(switchNames), dutMachine)

// printTable prints a line for each value: the switches beside each other, and pfcswitch's ratios to its peers.
func printTable(out io.Writer, rows []row) error {
	shown := slices.DeleteFunc(slices.Clone(columns), func(dut string) bool {
		return !slices.ContainsFunc(rows, func(r row) bool { return r.dut == dut })
	})
	fmt.Fprintln(out, "\nMedians, with the least and the most of the rounds; "+
		"ratios are those of the rounds, in the same way.")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	heads := "MEASURED\tCONDITIONS\tVALUE\tROUNDS\t" + strings.ToUpper(strings.Join(shown, "\t"))
	fmt.Fprintln(w, heads+"\tTO BRIDGE\tTO OVS\tTO OVS-TSO")
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].group() == rows[0].group() {
			n++
		}
		if !details[rows[0].metric] {
			fmt.Fprintln(w, strings.Join(tableLine(rows[:n], shown), "\t"))
		}
		rows = rows[n:]
	}
	return w.Flush()
}

// tableLine is what all switches have of one value.
func tableLine(rows []row, shown []string) []string {
	by := func(a, b row) int { return a.rounds - b.rounds }
	rounds := fmt.Sprint(slices.MinFunc(rows, by).rounds)
	if most := fmt.Sprint(slices.MaxFunc(rows, by).rounds); most != rounds {
		rounds += "-" + most // of one switch to those of another
	}
	cells, ratios := map[string]string{}, map[string]string{}
	for _, r := range rows {
		cells[r.dut] = r.text(number)
		for peer, ratio := range r.ratios {
			if r.dut == dutPFC {
				ratios[peer] = ratio.text(hundredths)
			}
		}
	}
	line := []string{rows[0].what, rows[0].conditions, rows[0].metric, rounds}
	for _, dut := range shown {
		line = append(line, cmp.Or(cells[dut], "-"))
	}
	for _, peer := range peerNames {
		line = append(line, cmp.Or(ratios[peer], "-"))
	}
	return line
}

// hundredths writes a ratio.
func hundredths(v float64) string { return fmt.Sprintf("%.2f", v) }

// number writes three digits that count, and all of those before the point.
func number(v float64) string {
	if v == 0 {
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	s := strconv.FormatFloat(v, 'f', min(max(0, digits), 6), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
